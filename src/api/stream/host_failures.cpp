// SPDX-License-Identifier: Apache-2.0
// api/stream/host_failures.cpp - exceptions of host functions, kept until the next sync() of the
// stream.
#include "api/stream/host_failures.hpp"

#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/core/unhandled_error.hpp"
#include "api/stream/stream_state.hpp"
#include "os/at_exit.hpp"
#include "os/forked_child.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

struct failure {
  stream_identity stream;
  std::exception_ptr exception;
};

struct pending_failures {
  std::mutex lock;
  std::vector<failure> failures;
};

// Never destroyed, because host functions may run while statics are destroyed.
pending_failures& pending_list() {
  static never_destroyed<pending_failures> singleton;
  return *singleton;
}

// Called at exit, after which no thread calls sync(). Passes the remaining exceptions to the
// unhandled error handler.
void report_remaining() noexcept {
  if (os::in_forked_child()) return;  // they belong to the parent, whose sync() throws them
  std::vector<failure> remaining;
  {
    pending_failures& list = pending_list();
    const std::lock_guard lock{list.lock};
    remaining.swap(list.failures);
    pending_host_failures.fetch_sub(static_cast<int>(remaining.size()), std::memory_order_relaxed);
  }
  for (failure& f : remaining) call_unhandled_error_handler(std::move(f.exception));
}

// Removes and returns the exceptions of one stream, in the order in which they were thrown.
std::vector<failure> extract_failures(const stream_identity& stream) {
  pending_failures& list = pending_list();
  const std::lock_guard lock{list.lock};
  const auto others = std::stable_partition(list.failures.begin(), list.failures.end(),
                                            [&](const failure& f) { return f.stream != stream; });
  std::vector<failure> extracted{std::move_iterator{others},
                                 std::move_iterator{list.failures.end()}};
  list.failures.erase(others, list.failures.end());
  pending_host_failures.fetch_sub(static_cast<int>(extracted.size()), std::memory_order_relaxed);
  return extracted;
}

}  // namespace

unsigned long long unique_thread_id() noexcept {
  static constinit std::atomic<unsigned long long> last{0};
  static thread_local const unsigned long long own =
      last.fetch_add(1, std::memory_order_relaxed) + 1;
  return own;
}

int system_thread_id() noexcept {
  static thread_local const int own = static_cast<int>(::gettid());
  return own;
}

stream_identity identify(CUstream stream) noexcept {
  if (stream == CU_STREAM_PER_THREAD) return {stream, unique_thread_id()};
  if (is_legacy(stream)) {
    CUcontext current = nullptr;
    // If the call fails, `current` stays null, which is a valid identity, too.
    static_cast<void>(driver().cuCtxGetCurrent(&current));
    return {CU_STREAM_LEGACY, device_address(current)};
  }
  const auto properties = find_stream_properties(stream);
  return {stream, properties ? properties->id : 0};
}

void store_host_failure(const stream_identity& stream, std::exception_ptr exception) noexcept {
  static std::once_flag once;
  std::call_once(once, [] { os::register_at_exit(&report_remaining); });
  try {
    pending_failures& list = pending_list();
    const std::lock_guard lock{list.lock};
    // The exception is counted before identify() looks the stream up. If another thread destroys
    // the stream after that lookup, it sees the count, waits for the lock, and takes the exception
    // from the list. Default streams are never destroyed, so they are not looked up.
    pending_host_failures.fetch_add(1, std::memory_order_release);
    if (is_default(stream.handle) || identify(stream.handle) == stream) {
      list.failures.push_back({stream, exception});
      return;
    }
    pending_host_failures.fetch_sub(1, std::memory_order_relaxed);
  } catch (...) {
    // There is no memory to store the exception.
    pending_host_failures.fetch_sub(1, std::memory_order_relaxed);
  }
  call_unhandled_error_handler(std::move(exception));
}

void throw_host_failures(const stream_identity& stream) {
  std::vector<failure> own = extract_failures(stream);
  if (own.empty()) return;
  for (std::size_t i = 1; i < own.size(); ++i)
    call_unhandled_error_handler(std::move(own[i].exception));
  std::rethrow_exception(std::move(own.front().exception));
}

void report_host_failures(CUstream stream, unsigned long long owner) noexcept {
  if (pending_host_failures.load(std::memory_order_acquire) == 0 || os::in_forked_child()) return;
  try {
    for (failure& f : extract_failures({stream, owner}))
      call_unhandled_error_handler(std::move(f.exception));
  } catch (...) {
    call_unhandled_error_handler(std::current_exception());
  }
}

}  // namespace weir::detail
