// driver/verify.cpp - a table that waits for every operation.
#include "driver/verify.hpp"

#include "driver/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

enum class kind {
  other,      // queues nothing
  operation,  // is waited for
  holding,    // may hold its stream until the program does something else
  taking,     // takes something over that it keeps whatever becomes of the stream
};

// Whatever has a stream among its parameters queues something there, but for the functions about streams themselves.
[[nodiscard]] constexpr kind kind_of(std::string_view symbol) noexcept {
  if (symbol.starts_with("cuStreamWaitValue") || symbol.starts_with("cuStreamBatchMemOp") ||
      symbol.starts_with("cuWaitExternalSemaphores")) {
    return kind::holding;
  }
  if (symbol == "cuStreamAddCallback" || symbol == "cuLaunchHostFunc" || symbol.starts_with("cuMemAlloc")) {
    return kind::taking;
  }
  if (symbol == "cuStreamWaitEvent" || symbol == "cuStreamAttachMemAsync" || symbol.starts_with("cuStreamWriteValue")) {
    return kind::operation;
  }
  if (symbol.starts_with("cuOccupancy")) return kind::other;  // asks about a launch
  return symbol.starts_with("cuStream") ? kind::other : kind::operation;
}

constinit std::atomic<const driver_table*> below{nullptr};
thread_local constinit found found_last = found::by_the_call;

// Streams that were not waited for to their end. Few, and only ever looked at by a program that looks for a mistake.
class held_streams {
 public:
  [[nodiscard]] bool has(CUstream stream) const {
    const std::lock_guard lock{lock_};
    return std::ranges::find(streams_, stream) != streams_.end();
  }
  void put(CUstream stream) {
    const std::lock_guard lock{lock_};
    if (std::ranges::find(streams_, stream) == streams_.end()) streams_.push_back(stream);
  }
  void take(CUstream stream) {
    const std::lock_guard lock{lock_};
    std::erase(streams_, stream);
  }

 private:
  mutable std::mutex lock_;
  std::vector<CUstream> streams_;
};

// Operations come while statics are destroyed.
held_streams& held() {
  static auto* const the_streams = new held_streams;
  return *the_streams;
}

// Asks until the stream is done or has failed, or time is over. Others may capture meanwhile, and this thread too: it
// says that a question does no harm.
[[nodiscard]] CUresult look(const driver_table& driver, CUstream stream, std::chrono::nanoseconds patience) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (driver.cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS) return CUDA_ERROR_NOT_READY;
  const auto begin = std::chrono::steady_clock::now();
  CUresult answer = driver.cuStreamQuery(stream);
  while (answer == CUDA_ERROR_NOT_READY && std::chrono::steady_clock::now() - begin < patience) {
    std::this_thread::yield();
    answer = driver.cuStreamQuery(stream);
  }
  static_cast<void>(driver.cuThreadExchangeStreamCaptureMode(&mode));
  return answer;
}

// What the work of the stream has failed with so far; success if nobody can tell yet, or if looking would break a capture.
[[nodiscard]] CUresult outcome(const driver_table& driver, CUstream stream, kind after) {
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult asked = driver.cuStreamIsCapturing(stream, &capturing);
  if (loses_context(asked)) return asked;
  if (asked != CUDA_SUCCESS || capturing != CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_SUCCESS;
  const bool is_held = held().has(stream);
  const bool once = is_held || after == kind::holding;
  const std::chrono::nanoseconds patience{once ? 0 : verification_patience.load(std::memory_order_relaxed)};
  const CUresult answer = look(driver, stream, patience);
  if (answer == CUDA_ERROR_NOT_READY) {
    if (!is_held) held().put(stream);
    return CUDA_SUCCESS;
  }
  if (is_held) held().take(stream);
  return answer;
}

// Nothing thrown passes the seam: where there is no memory to remember a stream it goes unverified.
[[nodiscard]] CUresult outcome_or_success(const driver_table& driver, CUstream stream, kind after) noexcept {
  try {
    return outcome(driver, stream, after);
  } catch (...) {
    return CUDA_SUCCESS;
  }
}

[[nodiscard]] CUresult answer_with(CUresult answer, found when) noexcept {
  found_last = answer == CUDA_SUCCESS ? found::by_the_call : when;
  return answer;
}

template <class T>
inline constexpr bool names_stream = std::is_same_v<T, CUstream> || std::is_same_v<T, const CUlaunchConfig*>;

// A launch has its stream among its settings, which the driver refuses if they are null.
[[nodiscard]] CUstream named_by(CUstream stream) noexcept { return stream; }
[[nodiscard]] CUstream named_by(const CUlaunchConfig* config) noexcept {
  return config != nullptr ? config->hStream : nullptr;
}

template <class First, class... Rest>
[[nodiscard]] CUstream stream_among(First first, Rest... rest) noexcept {
  if constexpr (names_stream<First>) {
    return named_by(first);
  } else {
    return stream_among(rest...);
  }
}

template <kind Kind, auto Member>
struct wrapper;

template <kind Kind, class... Arguments, CUresult (*driver_table::*Member)(Arguments...)>
struct wrapper<Kind, Member> {
  static CUresult call(Arguments... arguments) {
    const driver_table& driver = *below.load(std::memory_order_acquire);
    if constexpr (Kind != kind::other && (names_stream<Arguments> || ...)) {
      if (verifying()) return call_and_wait(driver, arguments...);
    }
    return (driver.*Member)(arguments...);
  }

  static CUresult call_and_wait(const driver_table& driver, Arguments... arguments) {
    const CUstream stream = stream_among(arguments...);
    const CUresult before = outcome_or_success(driver, stream, kind::operation);
    if (before != CUDA_SUCCESS) return answer_with(before, found::before_it);
    const CUresult answer = (driver.*Member)(arguments...);
    if (answer != CUDA_SUCCESS) return answer_with(answer, found::by_the_call);
    const CUresult after = outcome_or_success(driver, stream, Kind);
    if constexpr (Kind == kind::taking) return CUDA_SUCCESS;  // the next operation tells
    return answer_with(after, found::after_it);
  }
};

constexpr driver_table wrapped{
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  &wrapper<kind_of(#symbol), &driver_table::symbol>::call,
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

std::mutex changing;              // held while the table is put in or taken out
constinit bool is_there = false;  // under `changing`: in use, or under the one in use

}  // namespace

void set_verification(bool on) {
  static_cast<void>(driver());  // there is one from here on
  const std::lock_guard lock{changing};
  const driver_table* const now = table_in_use.load(std::memory_order_acquire);
  verification_on.store(on, std::memory_order_relaxed);
  if (on && !is_there) {
    below.store(now, std::memory_order_release);
    table_in_use.store(&wrapped, std::memory_order_release);
    is_there = true;
  } else if (!on && is_there) {
    const driver_table* mine = &wrapped;
    is_there = !table_in_use.compare_exchange_strong(mine, below.load(std::memory_order_relaxed));
  }
}

found take_found() noexcept { return std::exchange(found_last, found::by_the_call); }

wished_verification parse_verify(std::string_view value) {
  if (value.empty() || value == "0") return {};
  if (value == "1") return {true, {}};
  return {false, fmt::format("its value is '{}', and it may be 0 or 1", value)};
}

}  // namespace weir::detail
