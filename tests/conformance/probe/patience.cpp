// probe/patience.cpp - how long the probe waits for what, and what it opens when a case is over.
#include "probe/patience.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weir::conformance {
namespace {

constexpr int kGateMs = 8500;

std::atomic<int> g_gate_ms{kGateMs};
std::mutex g_mutex;
std::vector<std::function<void()>> g_releases;

}  // namespace

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

int gate_limit_ms() { return g_gate_ms; }

bool wait_for(const std::function<bool()>& f, int ms) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    if (f()) return true;
    if (seconds_since(begin) * 1000 > ms) return f();
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

void begin_patience(int factor) {
  g_gate_ms = kGateMs * factor;
  std::lock_guard lock(g_mutex);
  g_releases.clear();
}

}  // namespace weir::conformance
