// SPDX-License-Identifier: Apache-2.0
// probe/time_limits.cpp - the probe's time limits, and what it releases at the end of a case.
#include "probe/time_limits.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weir::conformance {
namespace {

constexpr double kGateFactor = 1.2;  // the parent waits 1.4 times as long as the watchdog

std::atomic<int> g_gate_ms{static_cast<int>(kWatchdogLimit * 1000 * kGateFactor)};
std::mutex g_releases_mutex;
std::vector<std::function<void()>> g_releases;

}  // namespace

double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

int gate_limit_ms() { return g_gate_ms; }

PollTimer::PollTimer(int ms)
    : left_(std::chrono::milliseconds(ms)),
      last_(Clock::now()),
      end_(last_ + left_ + std::chrono::seconds(1)) {}

bool PollTimer::is_expired() {
  const Clock::time_point now = Clock::now();
  left_ -= std::min<Clock::duration>(now - std::exchange(last_, now), kPollInterval);
  return left_ <= Clock::duration::zero() || now > end_;
}

bool wait_for(const std::function<bool()>& f, int ms) {
  for (PollTimer timer(ms);;) {
    if (f()) return true;
    if (timer.is_expired()) return f();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void on_release(std::function<void()> f) {
  std::lock_guard lock(g_releases_mutex);
  g_releases.push_back(std::move(f));
}

void release_all() {
  std::lock_guard lock(g_releases_mutex);
  for (auto& f : g_releases) f();
}

void begin_case_limits(double seconds) {
  g_gate_ms = static_cast<int>(seconds * 1000 * kGateFactor);
  std::lock_guard lock(g_releases_mutex);
  g_releases.clear();
}

}  // namespace weir::conformance
