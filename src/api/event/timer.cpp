// api/event/timer.cpp - timers and what they collect.
#include <weir/event/timer.hpp>

#include "api/core/check.hpp"
#include "api/stream/stream_state.hpp"
#include "api/event/timing_book.hpp"
#include "api/core/unraised.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace weir {
namespace {

// A captured event has no time, so a section neither begins nor ends in a capture.
void refuse_capture(stream_ref stream, call_site at) {
  constexpr const char* call = "weir::timer";
  abi::CUstreamCaptureStatus status = abi::CU_STREAM_CAPTURE_STATUS_NONE;
  detail::check(detail::driver().cuStreamIsCapturing(detail::usable(stream, call, at), &status), "cuStreamIsCapturing",
                stream, at);
  if (status != abi::CU_STREAM_CAPTURE_STATUS_NONE) detail::fail(errc::stream_capture_unsupported, call, stream, at);
}

// A timed event of the stream's context, recorded there.
abi::CUevent record(detail::timing_book& book, stream_ref stream, abi::CUcontext context, unsigned long long number,
                    call_site at) {
  const abi::CUevent event = book.take_event(context, number, at);
  try {
    stream.record(event_ref{event}, at);
  } catch (...) {
    book.give_back(number, event);
    throw;
  }
  return event;
}

}  // namespace

timings::timings() : book_{new detail::timing_book} {}

timings& timings::operator=(timings&& other) noexcept {
  timings taken{std::move(other)};
  std::swap(book_, taken.book_);
  return *this;
}

timings::~timings() {
  if (book_ != nullptr) book_->let_go();
}

detail::timing_book& timings::book(const char* call, call_site at) const {
  detail::permit(call, {}, at);
  if (book_ == nullptr) detail::fail(errc::closed, call, {}, at);
  return *book_;
}

std::vector<timing> timings::all(call_site at) const {
  detail::timing_book& mine = book("weir::timings::all", at);
  mine.collect(at);
  return mine.all();
}

std::optional<timing> timings::of(std::string_view name, call_site at) const {
  std::vector<timing> known = all(at);
  const auto found = std::ranges::find(known, name, &timing::name);
  if (found == known.end()) return std::nullopt;
  return std::move(*found);
}

void timings::sync(call_site at) const { book("weir::timings::sync", at).sync(at); }

void timings::clear() noexcept {
  if (book_ != nullptr) book_->clear();
}

timer::timer(timings& into, std::string_view name, stream_ref stream, call_site at)
    : book_{&into.book("weir::timer", at)}, stream_{stream} {
  refuse_capture(stream, at);
  context_ = detail::context_of(stream.get(), at);
  context_number_ = detail::number_of(context_, at);
  name_ = book_->number_of(name);
  order_ = book_->next_order();
  start_ = record(*book_, stream, context_, context_number_, at);
  book_->hold();
}

timer::~timer() {
  if (book_ == nullptr) return;
  try {
    stop(call_site{});
  } catch (...) {
    detail::raise_to_hook(std::current_exception());
  }
}

void timer::stop(call_site at) {
  if (book_ == nullptr) return;
  try {
    refuse_capture(stream_, at);
    const abi::CUevent end = record(*book_, stream_, context_, context_number_, at);
    try {
      book_->add({name_, order_, context_number_, start_, end});
    } catch (...) {
      book_->give_back(context_number_, end);
      throw;
    }
  } catch (...) {
    cancel();
    throw;
  }
  std::exchange(book_, nullptr)->let_go();
}

void timer::cancel() noexcept {
  if (book_ == nullptr) return;
  book_->give_back(context_number_, start_);
  std::exchange(book_, nullptr)->let_go();
}

}  // namespace weir
