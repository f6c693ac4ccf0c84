// SPDX-License-Identifier: Apache-2.0
// driver/verify.cpp - a table that waits for every operation.
#include "driver/verify.hpp"

#include "driver/relaxed_thread_mode.hpp"
#include "driver/results.hpp"
#include "os/poll_until.hpp"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

enum class call_kind {
  other,      // enqueues nothing
  operation,  // enqueues work that is waited for
  may_block,  // may block its stream until the program does something else
  // Hands an object to the caller or the driver. An error that is found afterwards must not make
  // the call fail.
  transfers_ownership,
};

// Functions with a stream parameter enqueue work in it, except those that concern the stream
// itself.
[[nodiscard]] constexpr call_kind call_kind_of(std::string_view symbol) noexcept {
  if (symbol.starts_with("cuStreamWaitValue") || symbol.starts_with("cuStreamBatchMemOp") ||
      symbol.starts_with("cuWaitExternalSemaphores")) {
    return call_kind::may_block;
  }
  if (symbol == "cuStreamAddCallback" || symbol == "cuLaunchHostFunc" ||
      symbol.starts_with("cuMemAlloc")) {
    return call_kind::transfers_ownership;
  }
  if (symbol == "cuStreamWaitEvent" || symbol == "cuStreamAttachMemAsync" ||
      symbol.starts_with("cuStreamWriteValue")) {
    return call_kind::operation;
  }
  if (symbol.starts_with("cuOccupancy")) return call_kind::other;  // only computes for a launch
  return symbol.starts_with("cuStream") ? call_kind::other : call_kind::operation;
}

constinit std::atomic<const driver_table*> underlying_table{nullptr};
thread_local constinit failure_phase last_failure_phase = failure_phase::by_call;

// The streams whose work was still pending at the end of a wait. A vector is enough: there are few
// such streams, and verification is only for debugging.
class blocked_streams {
 public:
  [[nodiscard]] bool contains(CUstream stream) const {
    const std::lock_guard lock{lock_};
    return std::ranges::find(streams_, stream) != streams_.end();
  }
  void insert(CUstream stream) {
    const std::lock_guard lock{lock_};
    if (std::ranges::find(streams_, stream) == streams_.end()) streams_.push_back(stream);
  }
  void erase(CUstream stream) {
    const std::lock_guard lock{lock_};
    std::erase(streams_, stream);
  }

 private:
  mutable std::mutex lock_;
  std::vector<CUstream> streams_;
};

// Never destroyed, because operations may be called while statics are destroyed.
blocked_streams& blocked() {
  static auto* const the_streams = new blocked_streams;
  return *the_streams;
}

// Queries the stream until it is done, has failed or the time is over. The relaxed mode allows the
// query while this thread or another one captures.
[[nodiscard]] CUresult poll_stream(const driver_table& driver, CUstream stream, long long timeout) {
  const relaxed_thread_mode relaxed{driver};
  if (relaxed.answer() != CUDA_SUCCESS) return CUDA_ERROR_NOT_READY;
  return os::poll_until(timeout, CUDA_ERROR_NOT_READY,
                        [&] { return driver.cuStreamQuery(stream); });
}

// Waits for the stream's work and returns its error. Returns success if the work is still pending
// after the timeout; the stream then counts as blocked. The timeout is 0 for a blocked stream, and
// if `after` says that the last call may block the stream. Also returns success if the stream
// captures, since a query would invalidate the capture, and for an invalid stream, which the call
// itself refuses.
[[nodiscard]] CUresult stream_status(const driver_table& driver, CUstream stream, call_kind after) {
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult status = driver.cuStreamIsCapturing(stream, &capturing);
  if (loses_context(status)) return status;
  if (status != CUDA_SUCCESS || capturing != CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_SUCCESS;
  const bool is_blocked = blocked().contains(stream);
  const bool poll_once = is_blocked || after == call_kind::may_block;
  const long long timeout = poll_once ? 0 : verification_timeout.load(std::memory_order_relaxed);
  const CUresult answer = poll_stream(driver, stream, timeout);
  if (answer == CUDA_ERROR_NOT_READY) {
    if (!is_blocked) blocked().insert(stream);
    return CUDA_SUCCESS;
  }
  if (is_blocked) blocked().erase(stream);
  return answer;
}

// Like stream_status(), but returns success if there is no memory to register a blocked stream.
// Functions of a driver table must not throw.
[[nodiscard]] CUresult stream_status_or_success(const driver_table& driver, CUstream stream,
                                                call_kind after) noexcept {
  try {
    return stream_status(driver, stream, after);
  } catch (...) {
    return CUDA_SUCCESS;
  }
}

[[nodiscard]] CUresult answer_with(CUresult answer, failure_phase when) noexcept {
  last_failure_phase = answer == CUDA_SUCCESS ? failure_phase::by_call : when;
  return answer;
}

template <class T>
inline constexpr bool is_stream_argument =
    std::is_same_v<T, CUstream> || std::is_same_v<T, const CUlaunchConfig*>;

[[nodiscard]] CUstream stream_of(CUstream stream) noexcept { return stream; }
// Returns the stream of a launch. The driver itself refuses a null configuration.
[[nodiscard]] CUstream stream_of(const CUlaunchConfig* config) noexcept {
  return config != nullptr ? config->hStream : nullptr;
}

template <class First, class... Rest>
[[nodiscard]] CUstream find_stream_argument(First first, Rest... rest) noexcept {
  if constexpr (is_stream_argument<First>) {
    return stream_of(first);
  } else {
    return find_stream_argument(rest...);
  }
}

template <call_kind Kind, auto Member>
struct wrapper;

template <call_kind Kind, class... Arguments, CUresult (*driver_table::*Member)(Arguments...)>
struct wrapper<Kind, Member> {
  static CUresult call(Arguments... arguments) {
    const driver_table& driver = *underlying_table.load(std::memory_order_acquire);
    if constexpr (Kind != call_kind::other && (is_stream_argument<Arguments> || ...)) {
      if (verifying()) return call_and_wait(driver, arguments...);
    }
    return (driver.*Member)(arguments...);
  }

  static CUresult call_and_wait(const driver_table& driver, Arguments... arguments) {
    const CUstream stream = find_stream_argument(arguments...);
    const CUresult before = stream_status_or_success(driver, stream, call_kind::operation);
    if (before != CUDA_SUCCESS) return answer_with(before, failure_phase::before_call);
    const CUresult answer = (driver.*Member)(arguments...);
    if (answer != CUDA_SUCCESS) return answer_with(answer, failure_phase::by_call);
    const CUresult after = stream_status_or_success(driver, stream, Kind);
    // The object has its new owner, so the call must not fail: the next operation returns the
    // error.
    if constexpr (Kind == call_kind::transfers_ownership) return CUDA_SUCCESS;
    return answer_with(after, failure_phase::after_call);
  }
};

constexpr driver_table verifying_table{
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  &wrapper<call_kind_of(#symbol), &driver_table::symbol>::call,
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

std::mutex table_mutex;  // held while the table is installed or removed
// True if verifying_table is in use, or if the table in use calls it. Guarded by table_mutex.
constinit bool is_installed = false;

}  // namespace

void set_verification(bool enabled) {
  static_cast<void>(driver());  // chooses a driver if none is in use yet
  const std::lock_guard lock{table_mutex};
  const driver_table* const now = table_in_use.load(std::memory_order_acquire);
  verification_on.store(enabled, std::memory_order_relaxed);
  if (enabled && !is_installed) {
    underlying_table.store(now, std::memory_order_release);
    table_in_use.store(&verifying_table, std::memory_order_release);
    is_installed = true;
  } else if (!enabled && is_installed) {
    const driver_table* expected = &verifying_table;
    is_installed = !table_in_use.compare_exchange_strong(
        expected, underlying_table.load(std::memory_order_relaxed));
  }
}

failure_phase take_failure_phase() noexcept {
  return std::exchange(last_failure_phase, failure_phase::by_call);
}

}  // namespace weir::detail
