// SPDX-License-Identifier: Apache-2.0
// graphs/driver_under_test.cpp - threads, words and the log of host functions.
#include "graphs/driver_under_test.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace weir::graphs {

std::string name_of(CUresult r) {
  const char* name = nullptr;
  if (driver_under_test::driver().cuGetErrorName(r, &name) != CUDA_SUCCESS || name == nullptr)
    return std::to_string(static_cast<int>(r));
  const std::string_view text{name};
  return std::string{text.substr(text.starts_with("CUDA_") ? 5 : 0)};
}

void expect_success(CUresult r, const char* call) {
  if (r != CUDA_SUCCESS) throw finding{fmt::format("{} answers {}", call, name_of(r))};
}

driver_under_test::driver_under_test(const wait_limit& limit) : limit_{limit} {
  const auto& d = driver();
  CUresult result = d.cuDevicePrimaryCtxRetain(&context_, 0);
  threads_ = std::make_unique<thread_pool>([&] {
    void* memory = nullptr;
    result = d.cuCtxSetCurrent(context_);
    if (result != CUDA_SUCCESS || words_ != nullptr) return;
    result = d.cuMemAllocHost_v2(&memory, (word_count + 1) * sizeof(std::uint32_t));
    words_ = static_cast<std::uint32_t*>(memory);
  });
  expect_success(result, "the set-up of a lane");
  words_[word_count] = 0;
  clear_words();
}

driver_under_test::~driver_under_test() {
  threads_->run(0, [&] { (void)driver().cuMemFreeHost(words_); });
  threads_.reset();
  (void)driver().cuDevicePrimaryCtxRelease_v2(0);
}

CUdeviceptr driver_under_test::address(int slot) const noexcept {
  return reinterpret_cast<CUdeviceptr>(words_ + slot);
}

int driver_under_test::slot_at(CUdeviceptr address) const noexcept {
  const auto first = reinterpret_cast<CUdeviceptr>(words_);
  return address < first ? -1 : static_cast<int>((address - first) / sizeof(std::uint32_t));
}

int driver_under_test::next_slot() { return static_cast<int>(slots_.fetch_add(1)); }

void* driver_under_test::label(int number) {
  return &labels_.emplace_back(host_label{this, number});
}

int driver_under_test::number_of(const void* label) noexcept {
  return static_cast<const host_label*>(label)->number;
}

void CUDA_CB driver_under_test::log_host_function(void* label) {
  const host_label& what = *static_cast<const host_label*>(label);
  driver_under_test& in = *what.of;
  const std::lock_guard lock{in.mutex_};
  in.log_.push_back({what.number, in.words()});
}

std::vector<observation> driver_under_test::take_log() {
  const std::lock_guard lock{mutex_};
  return std::exchange(log_, {});
}

// Nodes that are unordered with the reader may be writing.
std::vector<std::uint32_t> driver_under_test::words() const {
  std::vector<std::uint32_t> found(slots_.load());
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i] = std::atomic_ref{words_[i]}.load(std::memory_order_relaxed);
  return found;
}

void driver_under_test::open() noexcept { std::atomic_ref{words_[word_count]}.store(++openings_); }

void driver_under_test::clear_words() {
  std::memset(words_, 0, word_count * sizeof(std::uint32_t));
}

void driver_under_test::begin_sequence() {
  calls_.clear();
  slots_ = 0;
  clear_words();
  (void)take_log();
}

}  // namespace weir::graphs
