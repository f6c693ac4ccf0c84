// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/report.hpp - the results of a verified staging.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weir::tool {

// The times of equal work with one stream and with several; the best of the passes.
struct comparison {
  std::uint64_t bytes = 0;
  double one_stream_seconds = 0;
  double several_seconds = 0;

  [[nodiscard]] double one_stream_gb_per_s() const;  // 10^9 bytes per second
  [[nodiscard]] double several_gb_per_s() const;
  [[nodiscard]] double ratio() const;
};

// The results of replaying the whole job from a graph.
struct replay_report {
  comparison whole;
  std::uint64_t round_chunks = 0;   // chunks in a launch
  std::uint64_t rounds = 0;         // launches
  std::uint64_t chunks_queued = 0;  // chunks enqueued one by one, outside of rounds
  std::uint64_t changes = 0;        // nodes of executable graphs that were changed in place
  double preparation_seconds = 0;   // for capture, instantiation and upload
};

struct stage_report {
  std::string file;
  std::uint64_t bytes = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t chunks = 0;
  int in_flight = 0;
  int streams = 0;
  int passes = 0;
  std::string driver;
  int device = 0;
  std::string device_name;
  std::uint32_t crc = 0;  // of the file and of the returned data
  comparison whole;
  // Set if a graph was requested: the counts of the last pass, and the best times.
  std::optional<replay_report> graph;
  comparison device_only;
  std::string output;  // empty if no output was requested
};

[[nodiscard]] std::string to_text(const stage_report& report);
[[nodiscard]] std::string to_json(const stage_report& report);

}  // namespace weir::tool
