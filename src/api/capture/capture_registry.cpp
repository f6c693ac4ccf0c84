// api/capture/capture_registry.cpp - what is known of each open capture that was begun through weir.
#include "api/capture/capture_registry.hpp"

#include "api/stream/host_failures.hpp"
#include "api/core/never_destroyed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::detail {
namespace {

const char* name_of(capture_mode mode) noexcept {
  switch (mode) {
    case capture_mode::global: return "global";
    case capture_mode::own_thread: return "own_thread";
    case capture_mode::relaxed: return "relaxed";
  }
  return "an unknown";
}

// The record of the capture that the stream takes part in, if weir began it. With the registry's lock held.
bool takes_part(const capture_record& record, const capture_part& part) noexcept {
  return part.status == CU_STREAM_CAPTURE_STATUS_ACTIVE && record.what.id == part.id;
}

}  // namespace

bool joined_stream::is(CUstream other) const noexcept {
  return stream == other && (stream != CU_STREAM_PER_THREAD || thread == thread_number());
}

bool capture_record::begun_in(CUstream stream) const noexcept {
  return what.origin == stream && (stream != CU_STREAM_PER_THREAD || what.thread == thread_number());
}

bool capture_record::has(CUstream stream) const noexcept {
  return begun_in(stream) || std::ranges::any_of(joined, [&](const joined_stream& each) { return each.is(stream); });
}

bool capture_record::has_context(CUcontext context) const noexcept {
  return what.context == context ||
         std::ranges::any_of(joined, [&](const joined_stream& each) { return each.context == context; });
}

bool capture_record::can_be_asked() const noexcept {
  return what.thread == thread_number() ? begun_in(what.origin) : held_ != nullptr;
}

capture_registry& capture_registry::instance() noexcept {
  static never_destroyed<capture_registry> the_one;
  return *the_one;
}

void capture_registry::reserve() {
  const std::lock_guard lock{lock_};
  // Others may add meanwhile; there are never as many threads.
  constexpr std::size_t spare = 64;
  if (records_.capacity() < records_.size() + spare) records_.reserve(2 * records_.size() + 2 * spare);
}

void capture_registry::add(std::unique_ptr<capture_record> record) noexcept {
  const std::lock_guard lock{lock_};
  records_.push_back(std::move(record));
}

std::unique_ptr<capture_record> capture_registry::take(unsigned long long id) noexcept {
  std::unique_lock lock{lock_};
  for (;;) {
    const auto found = find(id);
    if (found == records_.end()) return nullptr;
    if ((*found)->asked == 0) {
      std::unique_ptr<capture_record> taken = std::move(*found);
      records_.erase(found);
      return taken;
    }
    answered_.wait(lock);
  }
}

auto capture_registry::find(unsigned long long id) noexcept -> records::iterator {
  return std::ranges::find_if(records_, [&](const auto& record) { return record->what.id == id; });
}

bool capture_registry::enter(unsigned long long id) noexcept {
  const std::lock_guard lock{lock_};
  const auto found = find(id);
  if (found == records_.end()) return false;
  ++(*found)->entered;
  return true;
}

void capture_registry::enter(std::unique_ptr<capture_record>& first) noexcept {
  const std::lock_guard lock{lock_};
  auto found = find(first->what.id);
  if (found == records_.end()) found = records_.insert(found, std::move(first));
  ++(*found)->entered;
}

void capture_registry::let_go(unsigned long long id) noexcept {
  std::unique_ptr<capture_record> gone;  // its stream may go with it, for which the driver is called
  std::unique_lock lock{lock_};
  if (const auto found = find(id); found == records_.end() || --(*found)->entered != 0) return;
  for (;;) {
    const auto found = find(id);
    if (found == records_.end() || !(*found)->what.entered) return;  // ended, or weir's own
    if ((*found)->entered != 0) return;                              // somebody else has come meanwhile
    if ((*found)->asked == 0) {
      gone = std::move(*found);
      records_.erase(found);
      return;
    }
    answered_.wait(lock);
  }
}

// An H200's driver crashes where one thread asks about a capture that another one is ending: so those who ask are waited for.
void capture_registry::begin_end(unsigned long long id) noexcept {
  std::unique_lock lock{lock_};
  for (const auto& record : records_) record->ending |= record->what.id == id;
  answered_.wait(lock, [&] {
    return std::ranges::none_of(records_,
                                [&](const auto& record) { return record->what.id == id && record->asked != 0; });
  });
}

void capture_registry::leave(capture_record& record) noexcept {
  const auto found = std::ranges::find_if(records_, [&](const auto& each) { return each.get() == &record; });
  if (found == records_.end()) return;  // another one who asked was faster
  record.uncount();
  record.left = std::move(*found);
  records_.erase(found);
}

std::unique_ptr<capture_record> capture_registry::end_asking(capture_record& record) noexcept {
  if (--record.asked != 0) return nullptr;
  answered_.notify_all();
  return std::move(record.left);
}

CUresult ask_capture(CUstream stream, capture_part& part) noexcept {
  CUresult answer = driver().cuStreamGetCaptureInfo_v3(stream, &part.status, &part.id, &part.graph, &part.nodes,
                                                       &part.edges, &part.count);
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
    answer = driver().cuStreamGetCaptureInfo_v2(stream, &part.status, &part.id, &part.graph, &part.nodes, &part.count);
  }
  return answer;
}

CUresult ask_which_capture(CUstream stream, CUstreamCaptureStatus& status, cuuint64_t& id) noexcept {
  const CUresult answer = driver().cuStreamGetCaptureInfo_v3(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
  if (answer != CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return answer;
  return driver().cuStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, nullptr, nullptr);
}

capture_part capture_part_of(CUstream stream, call_site at) {
  capture_part part;
  check(ask_capture(stream, part), "cuStreamGetCaptureInfo", stream_ref{stream}, at);
  return part;
}

void forget_ended(CUstream stream, const capture_part& now) noexcept {
  if (now.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return;  // which has no id
  unsigned long long ended = 0;
  capture_registry::instance().each([&](const capture_record& record) {
    const bool other = !record.what.scoped && !record.ending && record.begun_in(stream) && record.what.id != now.id;
    if (other) ended = record.what.id;
  });
  if (ended != 0) static_cast<void>(capture_registry::instance().take(ended));
}

std::string to_text(const open_capture& capture) {
  if (capture.entered) {
    return fmt::format("a capture that was begun past weir, and entered at {}:{}", capture.began.file_name(),
                       capture.began.line());
  }
  return fmt::format("the capture begun at {}:{} in {} mode by thread {}", capture.began.file_name(),
                     capture.began.line(), name_of(capture.options.mode), capture.thread_id);
}

// What happens while captures are open. None of it may fail: the operation has succeeded. Where memory is lacking, less
// is known.

void note_join(CUstream stream) noexcept {
  capture_part part;
  if (ask_capture(stream, part) != CUDA_SUCCESS) return;
  forget_ended(stream, part);
  if (part.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  const auto facts = facts_of(stream);
  capture_registry::instance().each([&](capture_record& record) {
    if (!takes_part(record, part) || record.has(stream)) return;
    try {
      record.joined.push_back({stream, facts ? facts->context : nullptr, thread_number()});
    } catch (const std::bad_alloc&) {  // its name will be missing
    }
  });
}

void note_record(CUevent event, CUstream stream) noexcept {
  capture_part part;
  const bool asked = ask_capture(stream, part) == CUDA_SUCCESS;
  if (asked) forget_ended(stream, part);
  capture_registry::instance().each([&](capture_record& record) {
    std::erase(record.events, event);
    if (!asked || !takes_part(record, part)) return;
    try {
      record.events.push_back(event);
    } catch (const std::bad_alloc&) {  // the driver's own answer will stand
    }
  });
}

void forget_event(CUevent event) noexcept {
  capture_registry::instance().each([&](capture_record& record) { std::erase(record.events, event); });
}

bool is_captured_event(CUevent event) noexcept {
  bool found = false;
  capture_registry::instance().each(
      [&](const capture_record& record) { found |= std::ranges::find(record.events, event) != record.events.end(); });
  return found;
}

}  // namespace weir::detail
