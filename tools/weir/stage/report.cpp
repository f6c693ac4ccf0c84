// stage/report.cpp - the report as a small table and as JSON.
#include "stage/report.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weir::tool {
namespace {

double gb_per_s(std::uint64_t bytes, double seconds) { return static_cast<double>(bytes) / seconds / 1e9; }

std::string row(const char* name, const comparison& c) {
  return fmt::format("  {:<12}{:>9.2f} GB/s{:>9.2f} GB/s{:>8.2f} x\n", name, c.one_stream_gb_per_s(),
                     c.several_gb_per_s(), c.ratio());
}

nlohmann::ordered_json json_of(const comparison& c) {
  return {{"bytes", c.bytes},
          {"one_stream_gb_per_s", c.one_stream_gb_per_s()},
          {"several_streams_gb_per_s", c.several_gb_per_s()},
          {"ratio", c.ratio()}};
}

}  // namespace

double comparison::one_stream_gb_per_s() const { return gb_per_s(bytes, one_stream_seconds); }
double comparison::several_gb_per_s() const { return gb_per_s(bytes, several_seconds); }
double comparison::ratio() const { return one_stream_seconds / several_seconds; }

std::string to_text(const stage_report& r) {
  std::string text = fmt::format("{}\n", r.file);
  text += fmt::format("  device      {}: {} ({} driver)\n", r.device, r.device_name, r.driver);
  text += fmt::format("  file        {} bytes, {} chunk{} of {}, at most {} in flight\n", r.bytes, r.chunks,
                      r.chunks == 1 ? "" : "s", bytes_text(r.chunk_bytes), r.in_flight);
  text += fmt::format("  crc-32      {:08x}, of the file and of what came back\n", r.crc);
  if (!r.output.empty()) text += fmt::format("  written to  {}\n", r.output);
  const std::string streams = r.streams == 1 ? "1 stream" : fmt::format("{} streams", r.streams);
  text += fmt::format("\n  {:<12}{:>14}{:>14}{:>10}\n", "", "1 stream", streams, "ratio");
  text += row("whole job", r.whole);
  text += row("device part", r.device_part);
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
      {"device_part", json_of(r.device_part)},
      {"output", r.output.empty() ? nlohmann::ordered_json{} : nlohmann::ordered_json(r.output)},
  };
  // File names are bytes; what is no UTF-8 in them is replaced.
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weir::tool
