// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/round_graph.cpp - captures a round of chunks, and makes an executable graph for
// each group of slots.
#include "stage/round_graph.hpp"

#include <algorithm>
#include <utility>
#include <weir/capture/capture.hpp>
#include <weir/memory/copy.hpp>
#include <weir/stream/host_function.hpp>

namespace weir::tool {
namespace {

// Returns the node of the stream's last operation in the current capture.
graph_node last_node(stream_ref s) { return capture_info_of(s).frontier.front().node; }

// Makes `next` wait for the work of `last`, unless both are one stream.
void go_on(stream_ref last, stream_ref next) {
  if (next != last) next.wait(last);
}

void check_slot(void* data) { static_cast<slot*>(data)->check(); }

}  // namespace

round_graph::round_graph(const pipeline_streams& streams, std::span<slot> slots, const plan& plan)
    : streams_{streams},
      slots_{slots},
      recorded_{record(slots.first(plan.round_chunks()), nodes_)} {
  for (std::size_t begin = 0; begin < slots.size(); begin += nodes_.size()) {
    graph_exec exec = recorded_.instantiate();
    if (begin != 0) retarget(exec, slots.subspan(begin, nodes_.size()));
    exec.upload(streams_.all().front());
    executables_.push_back(std::move(exec));
  }
}

graph round_graph::record(std::span<slot> round, std::vector<chunk_nodes>& nodes) {
  const stream_ref first = streams_.all().front();
  const auto body = [&] {
    // All streams join the capture now. A stream that joined when it is first used would wait for
    // the operations that were captured before.
    for (const stream& s : streams_.all()) go_on(first, s);
    for (std::size_t chunk = 0; chunk < round.size(); ++chunk) {
      slot& s = round[chunk];
      const stream_ref in = streams_.of(step::in, chunk);
      const stream_ref across = streams_.of(step::across, chunk);
      const stream_ref out = streams_.of(step::out, chunk);
      const stream_ref check = streams_.of(step::check, chunk);
      chunk_nodes made;
      copy(in, s.source, s.transfer.copied_in());
      made.in = last_node(in).as<copy_node>();
      go_on(in, across);
      copy(across, s.transfer.copied_in(), s.transfer.copied_across());
      made.across = last_node(across).as<copy_node>();
      go_on(across, out);
      copy(out, s.transfer.copied_across(), s.returned);
      made.out = last_node(out).as<copy_node>();
      go_on(out, check);
      launch_host(check, [&s] { s.check(); });
      made.check = last_node(check).as<host_function_node>();
      nodes.push_back(made);
    }
  };
  return capture(first, body, {.join_forks = true});
}

void round_graph::retarget(graph_exec& exec, std::span<slot> round) {
  for (std::size_t i = 0; i < round.size(); ++i) {
    slot& s = round[i];
    const chunk_nodes& n = nodes_[i];
    exec.set(n.in, copy_parameters{s.source, s.transfer.copied_in()});
    exec.set(n.across, copy_parameters{s.transfer.copied_in(), s.transfer.copied_across()});
    exec.set(n.out, copy_parameters{s.transfer.copied_across(), s.returned});
    exec.set(n.check, host_function_parameters{check_slot, &s});
  }
  changes_ += step_count * round.size();
}

void round_graph::launch(std::uint64_t first_chunk) {
  const std::size_t begin = first_chunk % slots_.size();
  // Launches alternate between the last two streams: rounds return in file order, and one is copied
  // out while the next is copied in. The last two streams are chosen so that the chunks after the
  // last round begin immediately.
  const std::vector<stream>& streams = streams_.all();
  const stream_ref to =
      streams[streams.size() - 1 - launches_ % std::min<std::size_t>(streams.size(), 2)];
  executables_[begin / nodes_.size()].launch(to);
  for (const slot& s : slots_.subspan(begin, nodes_.size())) to.record(s.finished);
  ++launches_;
}

}  // namespace weir::tool
