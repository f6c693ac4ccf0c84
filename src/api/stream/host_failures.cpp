// api/stream/host_failures.cpp - exceptions of host functions on their way to the next sync() of the stream.
#include "api/stream/host_failures.hpp"

#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/stream/stream_state.hpp"
#include "api/core/unraised.hpp"
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
  std::exception_ptr what;
};

struct waiting_list {
  std::mutex lock;
  std::vector<failure> failures;
};

// Host functions may run while statics are destroyed.
waiting_list& waiting() {
  static never_destroyed<waiting_list> the_list;
  return *the_list;
}

// At the end of the program nobody syncs any more: what still waits goes to the hook.
void report_the_rest() noexcept {
  if (in_forked_child()) return;  // the parent's sync() is still to throw them
  std::vector<failure> rest;
  {
    waiting_list& list = waiting();
    const std::lock_guard lock{list.lock};
    rest.swap(list.failures);
    host_failures_waiting.fetch_sub(static_cast<int>(rest.size()), std::memory_order_relaxed);
  }
  for (failure& f : rest) raise_to_hook(std::move(f.what));
}

// Those of one stream, in the order in which they were thrown.
std::vector<failure> take(const stream_identity& stream) {
  waiting_list& list = waiting();
  const std::lock_guard lock{list.lock};
  const auto others = std::stable_partition(list.failures.begin(), list.failures.end(),
                                            [&](const failure& f) { return f.stream != stream; });
  std::vector<failure> taken{std::move_iterator{others}, std::move_iterator{list.failures.end()}};
  list.failures.erase(others, list.failures.end());
  host_failures_waiting.fetch_sub(static_cast<int>(taken.size()), std::memory_order_relaxed);
  return taken;
}

}  // namespace

unsigned long long thread_number() noexcept {
  static constinit std::atomic<unsigned long long> last{0};
  static thread_local const unsigned long long mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine;
}

int thread_id() noexcept {
  static thread_local const int mine = static_cast<int>(::gettid());
  return mine;
}

stream_identity identify(CUstream stream) noexcept {
  if (stream == CU_STREAM_PER_THREAD) return {stream, thread_number()};
  if (is_legacy(stream)) {
    CUcontext current = nullptr;
    static_cast<void>(driver().cuCtxGetCurrent(&current));  // a failure leaves null, which identifies as well
    return {CU_STREAM_LEGACY, device_address(current)};
  }
  const auto known = facts_of(stream);
  return {stream, known ? known->id : 0};
}

void keep_host_failure(const stream_identity& stream, std::exception_ptr what) noexcept {
  static std::once_flag once;
  std::call_once(once, [] { call_at_exit(&report_the_rest); });
  try {
    waiting_list& list = waiting();
    const std::lock_guard lock{list.lock};
    // Counted before the look at the stream: a stream that is destroyed after that look sees the count, and waits for
    // the lock to collect what is kept here.
    host_failures_waiting.fetch_add(1, std::memory_order_release);
    if (is_default(stream.handle) || identify(stream.handle) == stream) {
      list.failures.push_back({stream, what});
      return;
    }
    host_failures_waiting.fetch_sub(1, std::memory_order_relaxed);
  } catch (...) {
    // No memory to keep it.
    host_failures_waiting.fetch_sub(1, std::memory_order_relaxed);
  }
  raise_to_hook(std::move(what));
}

void throw_host_failures(const stream_identity& stream) {
  std::vector<failure> mine = take(stream);
  if (mine.empty()) return;
  for (std::size_t i = 1; i < mine.size(); ++i) raise_to_hook(std::move(mine[i].what));
  std::rethrow_exception(std::move(mine.front().what));
}

void drop_host_failures(CUstream stream, unsigned long long owner) noexcept {
  if (host_failures_waiting.load(std::memory_order_acquire) == 0 || in_forked_child()) return;
  try {
    for (failure& f : take({stream, owner})) raise_to_hook(std::move(f.what));
  } catch (...) {
    raise_to_hook(std::current_exception());
  }
}

}  // namespace weir::detail
