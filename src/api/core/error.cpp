// SPDX-License-Identifier: Apache-2.0
// api/core/error.cpp - weir::error and its std::error_category.
#include <weir/core/error.hpp>
#include <weir/core/to_string.hpp>

#include "api/core/never_destroyed.hpp"
#include "driver/results.hpp"

#include <fmt/format.h>

#include <atomic>
#include <utility>
#include <vector>

namespace weir {
namespace {

class category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "weir"; }

  [[nodiscard]] std::string message(int number) const override {
    switch (static_cast<errc>(number)) {
      case errc::closed: return "closed: the object was closed, released or moved from";
      case errc::not_recorded: return "not_recorded: the event was never recorded";
      case errc::timing_disabled: return "timing_disabled: the event was created without timing";
      case errc::wrong_type: return "wrong_type: the object is not of the requested type";
      case errc::exhausted: return "exhausted: the pool has no stream that it may hand out";
      default: break;
    }
    const detail::result_text words = detail::result_text_of(number);
    return fmt::format("{}: {}", words.name, words.text);
  }

  [[nodiscard]] std::error_condition default_error_condition(int number) const noexcept override {
    switch (static_cast<errc>(number)) {
      case errc::success: return {};
      case errc::invalid_value: return std::errc::invalid_argument;
      case errc::out_of_memory: return std::errc::not_enough_memory;
      case errc::no_device:
      case errc::invalid_device: return std::errc::no_such_device;
      case errc::not_permitted: return std::errc::operation_not_permitted;
      case errc::not_supported: return std::errc::not_supported;
      case errc::timeout: return std::errc::timed_out;
      default: return {number, *this};
    }
  }
};

}  // namespace

const std::error_category& driver_category() noexcept {
  // Never destroyed, because errors may be created and read while statics are destroyed.
  static detail::never_destroyed<category> the_category;
  return *the_category;
}

namespace detail {

// The content of an error, shared by its copies, and never changed.
struct error_details {
  // Composes `text`: "cuStreamQuery on stream 0x1 (device 0): CUDA_ERROR_...: ... (600) at
  // main.cpp:12; hint [then ...]".
  error_details(int code, const char* failed_call, std::string object_text, std::string hint_text,
                call_site at, std::vector<error> later_errors)
      : call{failed_call},
        object{std::move(object_text)},
        hint{std::move(hint_text)},
        where{at},
        attached{std::move(later_errors)},
        text{call} {
    if (!object.empty()) text += fmt::format(" on {}", object);
    text += fmt::format(": {} ({})", driver_category().message(code), code);
    if (where.line() != 0) text += fmt::format(" at {}:{}", where.file_name(), where.line());
    if (!hint.empty()) text += fmt::format("; {}", hint);
    for (const error& later : attached) text += fmt::format(" [then {}]", later.what());
  }

  std::atomic<int> holders{1};
  const char* call;
  std::string object;
  std::string hint;
  call_site where;
  std::vector<error> attached;
  std::string text;
};

void release_details(error_details* details) noexcept {
  if (details->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete details;
}

}  // namespace detail

error::error(errc code, const char* call, std::string object, std::string hint, call_site at)
    : std::system_error{make_error_code(code)},
      details_{new detail::error_details{
          this->code().value(), call, std::move(object), std::move(hint), at, {}}} {}

error::error(const error& other) noexcept : std::system_error{other}, details_{other.details_} {
  details_->holders.fetch_add(1, std::memory_order_relaxed);
}

error& error::operator=(const error& other) noexcept {
  error copy{other};
  std::system_error::operator=(other);
  std::swap(details_, copy.details_);
  return *this;
}

error::~error() { detail::release_details(details_); }

const char* error::call() const noexcept { return details_->call; }
const std::string& error::object() const noexcept { return details_->object; }
const std::string& error::hint() const noexcept { return details_->hint; }
call_site error::where() const noexcept { return details_->where; }
const char* error::what() const noexcept { return details_->text.c_str(); }
std::span<const error> error::attached() const noexcept { return details_->attached; }

// Copies the details instead of changing them, because other copies of this error share them and
// other threads may read them. Therefore attached errors cannot form a cycle of references, which
// would leak memory.
void error::attach(const error& later) {
  if (later.details_ == details_) return;  // an error is not attached to itself
  std::vector<error> all{details_->attached};
  all.push_back(later);
  auto* const details =
      new detail::error_details{code().value(), call(), object(), hint(), where(), std::move(all)};
  detail::release_details(std::exchange(details_, details));
}

}  // namespace weir
