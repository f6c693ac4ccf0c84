// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/report.cpp - formats the report as a small table and as JSON.
#include "stage/report.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weir::tool {
namespace {

std::string row(const char* name, const comparison& c) {
  return fmt::format("  {:<12}{:>9.2f} GB/s{:>9.2f} GB/s{:>8.2f} x\n", name,
                     c.one_stream_gb_per_s(), c.several_gb_per_s(), c.ratio());
}

nlohmann::ordered_json json_of(const comparison& c) {
  return {{"bytes", c.bytes},
          {"one_stream_gb_per_s", c.one_stream_gb_per_s()},
          {"several_streams_gb_per_s", c.several_gb_per_s()},
          {"ratio", c.ratio()}};
}

std::string line(const replay_report& g) {
  if (g.rounds == 0)
    return "  graph       none: too few chunks for rounds; a smaller --chunk makes more\n";
  return fmt::format(
      "  graph       {} of {} replayed, {} one by one; {} changed in place; {:.2f} ms to prepare\n",
      plural(g.rounds, "round"), plural(g.round_chunks, "chunk"), plural(g.chunks_queued, "chunk"),
      plural(g.changes, "node"), g.preparation_seconds * 1e3);
}

nlohmann::ordered_json json_of(const stage_report& r, const replay_report& g) {
  return {{"round_chunks", g.round_chunks},
          {"rounds_replayed", g.rounds},
          {"chunks_queued", g.chunks_queued},
          {"nodes_changed", g.changes},
          {"preparation_seconds", g.preparation_seconds},
          {"whole_job", json_of(g.whole)},
          {"ratio_to_queued", r.whole.several_seconds / g.whole.several_seconds}};
}

}  // namespace

double comparison::one_stream_gb_per_s() const { return gb_per_s(bytes, one_stream_seconds); }
double comparison::several_gb_per_s() const { return gb_per_s(bytes, several_seconds); }
double comparison::ratio() const { return one_stream_seconds / several_seconds; }

std::string to_text(const stage_report& r) {
  std::string text = fmt::format("{}\n", r.file);
  text += fmt::format("  device      {}: {} ({} driver)\n", r.device, r.device_name, r.driver);
  text += fmt::format("  file        {} bytes, {} of {}, at most {} in flight\n", r.bytes,
                      plural(r.chunks, "chunk"), bytes_text(r.chunk_bytes), r.in_flight);
  text += fmt::format("  crc-32      {:08x}, of the file and of what came back\n", r.crc);
  if (r.graph) text += line(*r.graph);
  if (!r.output.empty()) text += fmt::format("  written to  {}\n", r.output);
  text += fmt::format("\n  {:<12}{:>14}{:>14}{:>10}\n", "", "1 stream",
                      plural(static_cast<std::uint64_t>(r.streams), "stream"), "ratio");
  text += row("whole job", r.whole);
  if (r.graph) text += row("with graph", r.graph->whole);
  text += row("device part", r.device_only);
  return text;
}

std::string to_json(const stage_report& r) {
  const nlohmann::ordered_json report{
      {"file", r.file},
      {"bytes", r.bytes},
      {"chunk_bytes", r.chunk_bytes},
      {"chunks", r.chunks},
      {"in_flight", r.in_flight},
      {"streams", r.streams},
      {"passes", r.passes},
      {"driver", r.driver},
      {"device", r.device},
      {"device_name", r.device_name},
      {"crc32", fmt::format("{:08x}", r.crc)},
      {"whole_job", json_of(r.whole)},
      {"graph", r.graph ? json_of(r, *r.graph) : nlohmann::ordered_json{}},
      {"device_part", json_of(r.device_only)},
      {"output", r.output.empty() ? nlohmann::ordered_json{} : nlohmann::ordered_json(r.output)},
  };
  // File names are bytes; invalid UTF-8 in them is replaced.
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weir::tool
