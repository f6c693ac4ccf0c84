// SPDX-License-Identifier: Apache-2.0
// kernel_fixture.hpp - runs a kernel of sources/ on the driver in use, launched directly and from a
// graph, with equal memory contents each time.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/device/device.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/kernel/kernel.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/module.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "ulps.hpp"

namespace weir::test {

// Returns sources/NAME.cu compiled for device 0, once in a process.
[[nodiscard]] const module& kernel_module(const std::string& name);

// Memory of a trial: each run starts with its initial contents.
template <class T>
class array;

// Runs a kernel several times with equal memory contents.
class trial {
 public:
  explicit trial(stream_ref s) : stream_{s} {}

  template <class T>
  [[nodiscard]] array<T>& array_of(const std::vector<T>& contents) {
    auto made = std::make_unique<array<T>>(stream_, contents);
    array<T>& result = *made;
    arrays_.push_back(std::move(made));
    return result;
  }
  // An array of `size` zeros.
  template <class T>
  [[nodiscard]] array<T>& zeros(std::size_t size) {
    return array_of(std::vector<T>(size));
  }

  // `work(stream)` queues the launches and `check()` checks the arrays. They run once with direct
  // launches, then captured into a graph that is launched three times. The arrays are overwritten
  // with junk before each launch, which shows that the graph did the work.
  template <class Work, class Check>
  void run(const Work& work, const Check& check) {
    const auto all = [&] {
      for (const auto& array : arrays_) array->restore(stream_);
      work(stream_);
    };
    {
      SCOPED_TRACE("launched");
      all();
      stream_.sync();
      check();
    }
    if (testing::Test::HasFailure()) return;
    const graph recorded = capture(stream_, all);
    const graph_exec executable = recorded.instantiate();
    for (int launch = 1; launch <= 3; ++launch) {
      SCOPED_TRACE("launch " + std::to_string(launch) + " of the graph");
      for (const auto& array : arrays_) array->overwrite(stream_);
      executable.launch(stream_);
      stream_.sync();
      check();
    }
  }

  // The common base of all arrays.
  class any_array {
   public:
    any_array() = default;
    any_array(const any_array&) = delete;
    any_array& operator=(const any_array&) = delete;
    virtual ~any_array() = default;
    virtual void restore(stream_ref s) = 0;
    virtual void overwrite(stream_ref s) = 0;
  };

 private:
  stream_ref stream_;
  std::vector<std::unique_ptr<any_array>> arrays_;
};

template <class T>
class array final : public trial::any_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  array(stream_ref s, const std::vector<T>& contents)
      : stream_{s}, memory_{s, contents.size()}, contents_{s, contents.size()} {
    copy(s, contents, contents_);
    s.sync();
  }

  [[nodiscard]] buffer<T>& memory() noexcept { return memory_; }
  [[nodiscard]] T* data() noexcept { return memory_.data(); }
  [[nodiscard]] std::vector<T> read() const { return contents(stream_, memory_); }

  void restore(stream_ref s) override { copy(s, contents_, memory_); }
  void overwrite(stream_ref s) override {
    fill(s, std::span{reinterpret_cast<std::byte*>(memory_.data()), memory_.size_bytes()},
         std::byte{0xa5});
  }

 private:
  stream_ref stream_;
  buffer<T> memory_;
  buffer<T> contents_;
};

// Converts a test's argument to a launch argument: an array to its memory.
template <class T>
[[nodiscard]] buffer<T>& argument(array<T>& memory) noexcept {
  return memory.memory();
}
template <class T>
[[nodiscard]] const T& argument(const T& value) noexcept {
  return value;
}

[[nodiscard]] constexpr unsigned blocks_for(std::size_t elements, unsigned block) noexcept {
  return static_cast<unsigned>((elements + block - 1) / block);
}

// Returns a configuration with one thread for each of `elements`.
[[nodiscard]] inline launch_config grid_1d(std::size_t elements, unsigned block,
                                           unsigned shared_bytes = 0) {
  return {.grid = {blocks_for(elements, block)}, .block = {block}, .shared_bytes = shared_bytes};
}
// Returns a configuration with one thread for each of width * height elements.
[[nodiscard]] inline launch_config grid_2d(unsigned width, unsigned height, unsigned block_x,
                                           unsigned block_y) {
  return {.grid = {blocks_for(width, block_x), blocks_for(height, block_y)},
          .block = {block_x, block_y}};
}

template <class... Arguments>
void run(stream_ref s, const launch_config& config, const kernel& what, Arguments&&... arguments) {
  launch(s, config, what, argument(arguments)...);
}

// Returns pseudo-random numbers, equal in every run.
template <class T>
[[nodiscard]] std::vector<T> random_values(std::size_t count, T low, T high, unsigned seed = 1) {
  std::mt19937_64 source{seed};
  std::vector<T> values(count);
  if constexpr (std::is_floating_point_v<T>) {
    std::uniform_real_distribution<T> distribution{low, high};
    for (T& value : values) value = distribution(source);
  } else {
    using wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
    std::uniform_int_distribution<wide> distribution{static_cast<wide>(low),
                                                     static_cast<wide>(high)};
    for (T& value : values) value = static_cast<T>(distribution(source));
  }
  return values;
}
// Returns integers as floating-point numbers: their sums are exact in any order, fused or not.
template <std::floating_point F>
[[nodiscard]] std::vector<F> random_integers(std::size_t count, int low, int high,
                                             unsigned seed = 1) {
  const std::vector<int> numbers = random_values<int>(count, low, high, seed);
  return {numbers.begin(), numbers.end()};
}

class kernel_fixture : public testing::Test {
 protected:
  // Writes a variable of a module.
  template <class T>
  void set(const std::vector<T>& values, const module_variable<T>& variable) {
    copy(s, values, variable);
    s.sync();
  }

  device gpu;
  stream s{gpu};
};

}  // namespace weir::test
