// SPDX-License-Identifier: Apache-2.0
// soak/every_kind/expected_results.hpp - the parameters of a graph with a node of every kind, and
// its expected results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::test {

using value = std::uint32_t;

// The parameters of the nodes; each kind changes independently.
struct settings {
  value fill = 1, rows = 2, allocated = 3, host = 4, batch = 5, child = 6, kernel = 7;
  unsigned volume = 0;  // which of two sources
  unsigned events = 0;  // which of two pairs
  std::array<value, 6> bodies{11, 12, 13, 14, 15, 16};
};

// Nodes that can be disabled; an update does not change that.
struct enabled_nodes {
  bool fill = true, rows = true, copy = true, kernel = true;
  std::array<bool, 6> bodies{true, true, true, true, true, true};
};

// The positions of a launch's results.
namespace result_offset {
inline constexpr std::size_t line = 0, line_size = 4;
inline constexpr std::size_t rows = line + line_size, rows_width = 4, rows_height = 4;
inline constexpr std::size_t volume = rows + rows_width * rows_height, volume_size = 8;
inline constexpr std::size_t allocated = volume + volume_size, allocated_size = 4;
inline constexpr std::size_t host = allocated + allocated_size;
inline constexpr std::size_t launches = host + 1;
inline constexpr std::size_t child = launches + 1, child_size = 4;
inline constexpr std::size_t awaited = child + child_size;
inline constexpr std::size_t cells = awaited + 1, cell_count = 6;
inline constexpr std::size_t kernel = cells + cell_count;
inline constexpr std::size_t batch = kernel + 1;
inline constexpr std::size_t count = batch + 1;
}  // namespace result_offset
using outcome = std::array<value, result_offset::count>;

// The optional kinds of nodes.
struct included_kinds {
  bool by_hand;  // empty, child and conditional nodes
  bool kernels;
};

// The bodies that run: of an if, of an else, of the second case of two. The others are those of an
// if with an else, of a while, and of the first case.
inline constexpr std::array<bool, 6> body_runs{true, false, true, false, false, true};

// The device memory and the results after the launches so far.
class expected_results {
 public:
  explicit expected_results(included_kinds kinds) : kinds_{kinds} {}

  [[nodiscard]] const outcome& launch(const settings& now, const enabled_nodes& on, value awaited) {
    if (on.fill) line_.fill(now.fill);
    for (std::size_t i = 0; on.copy && i < result_offset::line_size; ++i)
      results_[result_offset::line + i] = line_[i];
    for (std::size_t y = 1; on.rows && y < 3; ++y) {
      for (std::size_t x = 1; x < 3; ++x)
        results_[result_offset::rows + y * result_offset::rows_width + x] = now.rows;
    }
    for (std::size_t i = 0; i < result_offset::volume_size; ++i)
      results_[result_offset::volume + i] = in_volume(now.volume, i);
    for (std::size_t i = 0; i < result_offset::allocated_size; ++i)
      results_[result_offset::allocated + i] = kinds_.by_hand ? now.allocated : in_volume(0, i);
    results_[result_offset::host] = now.host;
    ++results_[result_offset::launches];
    results_[result_offset::awaited] = awaited;
    results_[result_offset::batch] = now.batch;
    if (kinds_.kernels && on.kernel) results_[result_offset::kernel] = now.kernel;
    if (!kinds_.by_hand) return results_;
    for (std::size_t i = 0; i < result_offset::child_size; ++i)
      results_[result_offset::child + i] = now.child;
    for (std::size_t i = 0; i < result_offset::cell_count; ++i)
      results_[result_offset::cells + i] = body_runs[i] && on.bodies[i] ? now.bodies[i] : 0;
    return results_;
  }

  [[nodiscard]] static value in_volume(unsigned which, std::size_t i) {
    return 1000 * (which + 1) + static_cast<value>(i);
  }

 private:
  included_kinds kinds_;
  std::array<value, result_offset::line_size> line_{};
  outcome results_{};
};

}  // namespace weir::test
