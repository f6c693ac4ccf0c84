// graphs/driver_under_test.hpp - what sequences run in, one after the other: threads, a context,
// words, and a log of host functions.
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

// Something that a driver did otherwise than the rules have it.
struct finding : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How long calls may wait for what is held before it is let go, and whether a driver whose calls do
// so is at fault.
struct wait_limit {
  std::chrono::seconds time{1};
  bool is_finding = false;
};

// Several may be at work at once, each with threads of its own.
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

  // A word that streams wait for: with open() it reaches what hold() answered before. One thread
  // holds and opens.
  [[nodiscard]] CUdeviceptr gate() const noexcept { return address(static_cast<int>(word_count)); }
  [[nodiscard]] std::uint32_t hold() noexcept { return required_opening_ = openings_ + 1; }
  [[nodiscard]] bool holds() const noexcept { return required_opening_ > openings_; }
  void open() noexcept;
  [[nodiscard]] const wait_limit& limit() const noexcept { return limit_; }

  // The next slot and the host function of a label, both from 0 on in a sequence. A label is what
  // `log_host_function` is given.
  int next_slot();
  [[nodiscard]] bool has_slots() const noexcept { return slots_.load() + 1 < word_count; }
  void* label(int number);
  static void CUDA_CB log_host_function(void* label);
  [[nodiscard]] static int number_of(const void* label) noexcept;

  // What has run since the last call, and the words; these are 0 again afterwards. Nothing may be
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
  std::uint32_t* words_ = nullptr;  // one behind them is the gate
  std::uint32_t openings_ = 0;
  std::uint32_t required_opening_ = 0;  // the opening that the last hold() is for
  std::atomic<std::size_t> slots_{0};
  std::deque<host_label>
      labels_;  // never freed: a host function may come late where a driver is wrong
  std::mutex mutex_;
  std::vector<observation> log_;
  call_log calls_;
  std::unique_ptr<thread_pool> threads_;
};

// Throws a finding where a call that must succeed does not.
void expect_success(CUresult r, const char* call);

[[nodiscard]] std::string name_of(CUresult r);

}  // namespace weir::graphs
