// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/report.cpp - formats the report as text with a histogram, and as JSON.
#include "scan/report.hpp"

#include "scan/histogram_text.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weir::tool::scan {
namespace {

constexpr std::array<std::string_view, columns> column_keys{
    "one_stream_gb_per_s", "several_streams_gb_per_s", "from_graphs_gb_per_s"};

std::string row(const measured& m) {
  std::string text = fmt::format("  {:<13}", m.name);
  for (std::size_t c = 0; c < columns; ++c) text += fmt::format("{:>9.2f} GB/s", m.gb_per_s(c));
  return text + "\n";
}

nlohmann::ordered_json json_of(const measured& m) {
  nlohmann::ordered_json json{{"bytes", m.bytes}};
  for (std::size_t c = 0; c < columns; ++c) json[std::string{column_keys[c]}] = m.gb_per_s(c);
  return json;
}

}  // namespace

double measured::gb_per_s(std::size_t column) const {
  return tool::gb_per_s(bytes, seconds[column]);
}

double report::relative_to_slower(std::size_t column) const {
  return std::max(copies.seconds[column], kernels.seconds[column]) / both.seconds[column];
}

std::string to_text(const report& r, bool utf8) {
  const auto streams = static_cast<std::uint64_t>(r.job_plan.streams);
  const auto readers = static_cast<std::uint64_t>(r.job_plan.readers);
  std::string text = fmt::format("{}\n", r.file);
  text += fmt::format(
      "  device      {}: {} ({} driver); kernels compiled and loaded in {:.0f} ms\n",
      r.job_plan.device.ordinal(), r.device_name, r.driver, r.preparation_seconds * 1e3);
  text +=
      fmt::format("  file        {} bytes, {} of {}, at most {} in flight, read by {}\n", r.bytes,
                  plural(r.job_plan.chunks(r.bytes), "chunk"), bytes_text(r.job_plan.chunk_bytes),
                  r.job_plan.in_flight, plural(readers, "thread"));
  text += fmt::format("  crc-32      {:08x}\n", r.found.crc);
  text += fmt::format("  entropy     {:.4f} bits a byte\n", entropy_of(r.found.counts));
  text += fmt::format(
      "  checked     by zlib and a plain loop, which find the same at {:.2f} GB/s on {}\n",
      gb_per_s(r.bytes, r.host_seconds), plural(readers, "thread"));
  if (!r.picture.empty()) text += fmt::format("  drawn to    {}\n", r.picture);
  text += "\n" + histogram_text(r.found.counts, utf8);
  text += fmt::format("\n  {:<13}{:>14}{:>14}{:>14}\n", "", "1 stream", plural(streams, "stream"),
                      "from graphs");
  text += row(r.copies) + row(r.kernels) + row(r.both);
  text += fmt::format("  {:<13}", "of the slower");
  for (std::size_t c = 0; c < columns; ++c)
    text += fmt::format("{:>9.0f} %   ", r.relative_to_slower(c) * 100);
  text.erase(text.find_last_not_of(' ') + 1);
  text += "\n" + row(r.from_file);
  return text;
}

std::string to_json(const report& r) {
  nlohmann::ordered_json shares;
  for (std::size_t c = 0; c < columns; ++c) shares.push_back(r.relative_to_slower(c));
  nlohmann::ordered_json report{
      {"file", r.file},
      {"bytes", r.bytes},
      {"chunk_bytes", r.job_plan.chunk_bytes},
      {"chunks", r.job_plan.chunks(r.bytes)},
      {"in_flight", r.job_plan.in_flight},
      {"readers", r.job_plan.readers},
      {"streams", r.job_plan.streams},
      {"passes", r.passes},
      {"driver", r.driver},
      {"device", r.job_plan.device.ordinal()},
      {"device_name", r.device_name},
      {"preparation_seconds", r.preparation_seconds},
      {"crc32", fmt::format("{:08x}", r.found.crc)},
      {"entropy_bits_a_byte", entropy_of(r.found.counts)},
      {"counts", r.found.counts},
      {"host_gb_per_s", gb_per_s(r.bytes, r.host_seconds)},
  };
  for (const measured* m : {&r.copies, &r.kernels, &r.both, &r.from_file})
    report[std::string{m->key}] = json_of(*m);
  report["of_the_slower"] = shares;
  report["picture"] =
      r.picture.empty() ? nlohmann::ordered_json{} : nlohmann::ordered_json(r.picture);
  // File names are bytes; invalid UTF-8 in them is replaced.
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weir::tool::scan
