// probe/patience.cpp - how long the probe waits for what, and what it opens when a case is over.
#include "probe/patience.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weir::conformance {
namespace {

constexpr double kGateFactor = 1.2;  // the parent waits 1.4 times as long as the watchdog

std::atomic<int> g_gate_ms{static_cast<int>(kPatience * 1000 * kGateFactor)};
std::mutex g_mutex;
std::vector<std::function<void()>> g_releases;

}  // namespace

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

int gate_limit_ms() { return g_gate_ms; }

Looking::Looking(int ms)
    : left_(std::chrono::milliseconds(ms)), last_(Clock::now()), end_(last_ + left_ + std::chrono::seconds(1)) {}

bool Looking::over() {
  const Clock::time_point now = Clock::now();
  left_ -= std::min<Clock::duration>(now - std::exchange(last_, now), kLook);
  return left_ <= Clock::duration::zero() || now > end_;
}

bool wait_for(const std::function<bool()>& f, int ms) {
  for (Looking looking(ms);;) {
    if (f()) return true;
    if (looking.over()) return f();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void on_release(std::function<void()> f) {
  std::lock_guard lock(g_mutex);
  g_releases.push_back(std::move(f));
}

void release_all() {
  std::lock_guard lock(g_mutex);
  for (auto& f : g_releases) f();
}

void begin_patience(double seconds) {
  g_gate_ms = static_cast<int>(seconds * 1000 * kGateFactor);
  std::lock_guard lock(g_mutex);
  g_releases.clear();
}

}  // namespace weir::conformance
