// SPDX-License-Identifier: Apache-2.0
// soak/every_kind/graph_scenario.hpp - the memory, streams and events of a graph with a node of
// every kind, and functions that build it.
#pragma once

#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/graph/nodes/host_function_node.hpp>
#include <weir/graph/nodes/kernel_node.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/memory/pitched_span.hpp>
#include <weir/sync/value_batch.hpp>
#include <weir/sync/wait_word.hpp>

#include <array>
#include <mutex>
#include <span>
#include <vector>

#include "driver/table.hpp"
#include "soak/every_kind/expected_results.hpp"

namespace weir::test {

// The graph is built twice, by hand and by capture, with equal tags on corresponding nodes.
// It has copies of lines, rows and boxes, fills of lines and rows, host functions, records and
// waits of events, an allocation and its free, and batches of values. By hand it also has an empty
// node, a child graph, an if, an if with an else, a while and a switch, whose conditions keep their
// launch values; on a GPU also kernels.
// It has no external semaphores: only another API could create one for a GPU, and an embedded
// device has no nodes for them (SemaphoreNodes tests the rest).
class graph_scenario {
 public:
  explicit graph_scenario(bool by_hand);
  graph_scenario(const graph_scenario&) = delete;
  graph_scenario& operator=(const graph_scenario&) = delete;
  ~graph_scenario();

  [[nodiscard]] const included_kinds& kinds() const noexcept { return kinds_; }
  [[nodiscard]] graph build(const settings& now) {
    return kinds_.by_hand ? build_by_hand(now) : build_by_capture(now);
  }

  // Sets the parameters of the nodes of a graph that was built by hand.
  void set(const graph& g, const settings& now);

  // Launches behind a value that the graph waits for, with the events of its current nodes.
  void launch(const graph_exec& exec, unsigned events);
  [[nodiscard]] value last_awaited() const noexcept { return awaited_; }

  // Waits, and returns the results of each launch since the last call.
  [[nodiscard]] std::vector<outcome> outcomes();

  // Parameters of nodes, by tag.
  [[nodiscard]] host_function_parameters host_function(value setting);
  [[nodiscard]] value_batch batch(value setting);
  [[nodiscard]] graph child(value setting);
  [[nodiscard]] kernel_parameters store(const value& setting);
  [[nodiscard]] event_ref ready(unsigned events) const { return ready_[events]; }
  [[nodiscard]] event_ref done(unsigned events) const { return done_[events]; }
  [[nodiscard]] std::span<const value> volume(unsigned which) const {
    return {sources_.data() + which * result_offset::volume_size, result_offset::volume_size};
  }
  // Returns the fill node of each body, in the graph that was built last.
  [[nodiscard]] fill_node body(std::size_t i) const { return bodies_.at(i); }
  [[nodiscard]] std::span<value> cell(std::size_t i) { return {cells_.data() + i, 1}; }

 private:
  static constexpr std::size_t pitch = 16 * sizeof(value);

  [[nodiscard]] graph build_by_hand(const settings& now);
  [[nodiscard]] graph build_by_capture(const settings& now);
  [[nodiscard]] graph_node add_conditionals(graph& g, const settings& now);
  void snapshot();
  [[nodiscard]] std::span<value> result(std::size_t at, std::size_t size) {
    return {results_.data() + at, size};
  }
  [[nodiscard]] pitched_span<value> rows() {
    return {rows_.data(), result_offset::rows_width, result_offset::rows_height, pitch};
  }
  [[nodiscard]] pitched_span<value> row_results() {
    return {results_.data() + result_offset::rows, result_offset::rows_width,
            result_offset::rows_height, result_offset::rows_width * sizeof(value)};
  }
  // 2 x 2 x 2.
  template <class T>
  [[nodiscard]] static pitched_span<T> box(T* at) {
    return {at, 2, 2, 2 * sizeof(T), 2, 2};
  }
  [[nodiscard]] std::span<value> packed_box() { return {box_.data(), box_.size()}; }

  device gpu_;
  context_scope current_{gpu_};
  included_kinds kinds_;
  stream s_{gpu_}, t_{gpu_};
  buffer<value> line_{s_, result_offset::line_size},
      rows_{s_, result_offset::rows_height*pitch / sizeof(value)};
  buffer<value> box_{s_, result_offset::volume_size};
  buffer<value> child_{s_, result_offset::child_size}, awaited_there_{s_, 1},
      cells_{s_, result_offset::cell_count};
  buffer<value> stored_{s_, 1};
  pinned_buffer<value> sources_{2 * result_offset::volume_size}, results_{result_offset::count};
  wait_word<value> word_{0};
  std::array<event, 2> ready_{event{gpu_}, event{gpu_}}, done_{event{gpu_}, event{gpu_}};
  std::vector<fill_node> bodies_;
  abi::CUmodule module_ = nullptr;
  abi::CUfunction store_ = nullptr;
  value* stored_at_ = nullptr;  // a kernel's argument
  std::array<void*, 2> arguments_{};
  value awaited_ = 0;
  unsigned last_events_ = 0;

  std::mutex mutex_;
  std::vector<outcome> outcomes_;
};

}  // namespace weir::test
