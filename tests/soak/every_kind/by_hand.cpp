// SPDX-License-Identifier: Apache-2.0
// soak/every_kind/by_hand.cpp - builds the graph node by node.
#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/graph/nodes/conditional_node.hpp>
#include <weir/graph/nodes/copy_node.hpp>
#include <weir/graph/nodes/empty_node.hpp>
#include <weir/graph/nodes/event_nodes.hpp>
#include <weir/graph/nodes/memory_nodes.hpp>
#include <weir/graph/nodes/value_batch_node.hpp>

#include "soak/every_kind/graph_scenario.hpp"

namespace weir::test {

namespace {

std::span<const value> all(const buffer<value>& of) { return {of.data(), of.size()}; }

}  // namespace

// Each body sets its own cell.
graph_node graph_scenario::add_conditionals(graph& g, const settings& now) {
  const fill_node zero = g.add(fill_parameters{std::span{cells_.data(), cells_.size()}, 0});
  const conditional_node nodes[] = {g.add(if_parameters{condition{g, 1}}, {zero}),
                                    g.add(if_else_parameters{condition{g, 0}}, {zero}),
                                    g.add(while_parameters{condition{g, 0}}, {zero}),
                                    g.add(switch_parameters{condition{g, 1}, 2}, {zero})};
  bodies_.clear();
  for (const conditional_node& node : nodes) {
    for (const graph_ref body : node.bodies()) {
      const std::size_t i = bodies_.size();
      bodies_.push_back(body.add(fill_parameters{cell(i), now.bodies[i]}));
    }
  }
  return g.add(
      copy_parameters{all(cells_), result(result_offset::cells, result_offset::cell_count)},
      {nodes[0], nodes[1], nodes[2], nodes[3]});
}

graph graph_scenario::build_by_hand(const settings& now) {
  graph g;
  const auto tagged = [&](auto node, const char* name) {
    g.tag(node, name);
    return node;
  };
  const fill_node fills =
      tagged(g.add(fill_parameters{std::span{line_.data(), line_.size()}, now.fill}), "fill");
  const copy_node line = tagged(
      g.add(copy_parameters{all(line_), result(result_offset::line, result_offset::line_size)},
            {fills}),
      "copy");
  const fill_node part = tagged(g.add(fill_parameters{rows().part(1, 1, 2, 2), now.rows}), "rows");
  const copy_node copied_rows = g.add(copy_parameters{rows(), row_results()}, {part});
  const copy_node in = tagged(g.add(copy_parameters{volume(now.volume), packed_box()}), "volume");
  const copy_node out =
      g.add(copy_parameters{box(box_.data()), box(results_.data() + result_offset::volume)}, {in});
  const allocation_node allocation =
      g.add(allocation_parameters::for_elements<value>(gpu_, result_offset::allocated_size));
  const std::span<value> memory = allocation.memory<value>();
  const fill_node filled =
      tagged(g.add(fill_parameters{memory, now.allocated}, {allocation}), "allocated");
  const copy_node copied = g.add(
      copy_parameters{memory, result(result_offset::allocated, result_offset::allocated_size)},
      {filled});
  const free_node freed = g.add(free_parameters{allocation}, {copied});
  const host_function_node host = tagged(g.add(host_function(now.host)), "host");
  const value_batch_node steps = tagged(g.add(value_batch_parameters{batch(now.batch)}), "batch");
  const child_graph_node inside = tagged(g.add(child_graph_parameters{child(now.child)}), "child");
  const event_wait_node wait = tagged(g.add(event_wait_parameters{ready(now.events)}), "wait");
  const copy_node awaited =
      g.add(copy_parameters{all(awaited_there_), result(result_offset::awaited, 1)}, {wait});
  const event_record_node record =
      tagged(g.add(event_record_parameters{done(now.events)}, {awaited}), "record");
  const graph_node conditionals = add_conditionals(g, now);
  std::vector<graph_node> last{line,  copied_rows, out,    freed,       host,
                               steps, inside,      record, conditionals};
  if (kinds_.kernels) {
    const kernel_node kernel = tagged(g.add(store(now.kernel)), "kernel");
    last.push_back(
        g.add(copy_parameters{all(stored_), result(result_offset::kernel, 1)}, {kernel}));
  }
  const empty_node end = g.add(empty_parameters{}, last);
  static_cast<void>(g.add(host_function_parameters{[this] { snapshot(); }}, {end}));
  return g;
}

void graph_scenario::set(const graph& g, const settings& now) {
  const auto fill_with = [](fill_node node, value setting) {
    const fill_parameters is = node.parameters();
    node.set(fill_parameters{is.address(), setting, is.element_bytes(), is.width(), is.height(),
                             is.pitch()});
  };
  fill_with(g.find("fill").as<fill_node>(), now.fill);
  fill_with(g.find("rows").as<fill_node>(), now.rows);
  fill_with(g.find("allocated").as<fill_node>(), now.allocated);
  fill_with(g.find("child").as<child_graph_node>().child().find("fill of child").as<fill_node>(),
            now.child);
  for (std::size_t i = 0; i < bodies_.size(); ++i) fill_with(bodies_[i], now.bodies[i]);
  g.find("volume").as<copy_node>().set(copy_parameters{volume(now.volume), packed_box()});
  g.find("host").as<host_function_node>().set(host_function(now.host));
  g.find("batch").as<value_batch_node>().set(value_batch_parameters{batch(now.batch)});
  g.find("wait").as<event_wait_node>().set(event_wait_parameters{ready(now.events)});
  g.find("record").as<event_record_node>().set(event_record_parameters{done(now.events)});
  if (kinds_.kernels) g.find("kernel").as<kernel_node>().set(store(now.kernel));
}

}  // namespace weir::test
