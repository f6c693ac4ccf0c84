// SPDX-License-Identifier: Apache-2.0
// graphs/driver_under_test.hpp - the environment of sequences: threads, a context, words, and a log
// of host functions.
#pragma once

#include "driver/table.hpp"
#include "graphs/call_log.hpp"
#include "graphs/history.hpp"
#include "graphs/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::graphs {

using namespace weir::abi;

// A difference between a driver and the rules.
struct finding : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How long calls may wait for blocked streams before these are unblocked, and whether a driver that
// exceeds it is at fault.
struct wait_limit {
  std::chrono::seconds time{1};
  bool is_finding = false;
};

// Several objects may be in use concurrently, each with its own threads.
class driver_under_test {
 public:
  static constexpr std::size_t word_count = 1024;

  explicit driver_under_test(const wait_limit& limit);
  driver_under_test(const driver_under_test&) = delete;
  driver_under_test& operator=(const driver_under_test&) = delete;
  ~driver_under_test();

  [[nodiscard]] static const detail::driver_table& driver() { return detail::driver(); }
  thread_pool& threads() noexcept { return *threads_; }
  [[nodiscard]] call_log& calls() noexcept { return calls_; }
  [[nodiscard]] CUcontext context() const noexcept { return context_; }
  [[nodiscard]] CUdeviceptr address(int slot) const noexcept;
  [[nodiscard]] int slot_at(CUdeviceptr address) const noexcept;

  // The word that blocked streams wait for: open() makes it reach the value that hold() returned.
  // Only one thread calls hold() and open().
  [[nodiscard]] CUdeviceptr gate() const noexcept { return address(static_cast<int>(word_count)); }
  [[nodiscard]] std::uint32_t hold() noexcept { return required_opening_ = openings_ + 1; }
  [[nodiscard]] bool holds() const noexcept { return required_opening_ > openings_; }
  void open() noexcept;
  [[nodiscard]] const wait_limit& limit() const noexcept { return limit_; }

  // Return the next slot and a host function's label, both counted from 0 in a sequence. A label is
  // the argument of `log_host_function`.
  int next_slot();
  [[nodiscard]] bool has_slots() const noexcept { return slots_.load() + 1 < word_count; }
  void* label(int number);
  static void CUDA_CB log_host_function(void* label);
  [[nodiscard]] static int number_of(const void* label) noexcept;

  // Returns what has run since the last call, and the words, and resets these to 0. No work may be
  // running.
  std::vector<observation> take_log();
  [[nodiscard]] std::vector<std::uint32_t> words() const;
  void clear_words();
  void begin_sequence();

 private:
  struct host_label {
    driver_under_test* of;
    int number;
  };

  const wait_limit limit_;
  CUcontext context_ = nullptr;
  std::uint32_t* words_ = nullptr;  // the word behind them is the gate
  std::uint32_t openings_ = 0;
  std::uint32_t required_opening_ = 0;  // the opening that the last hold() waits for
  std::atomic<std::size_t> slots_{0};
  std::deque<host_label> labels_;  // never freed: with a faulty driver a host function may run late
  std::mutex mutex_;
  std::vector<observation> log_;
  call_log calls_;
  std::unique_ptr<thread_pool> threads_;
};

// Throws a finding if a call that must succeed fails.
void expect_success(CUresult r, const char* call);

[[nodiscard]] std::string name_of(CUresult r);

}  // namespace weir::graphs
