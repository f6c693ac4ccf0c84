// stage/report.hpp - what a verified staging found out, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weir::tool {

// The same work with one stream and with several; the best of the passes.
struct comparison {
  std::uint64_t bytes = 0;
  double one_stream_seconds = 0;
  double several_seconds = 0;

  [[nodiscard]] double one_stream_gb_per_s() const;  // 10^9 bytes a second
  [[nodiscard]] double several_gb_per_s() const;
  [[nodiscard]] double ratio() const;
};

// The whole job again, replayed from a graph.
struct replay_report {
  comparison whole;
  std::uint64_t round_chunks = 0;   // chunks that one launch takes
  std::uint64_t rounds = 0;         // launches
  std::uint64_t chunks_queued = 0;  // that fill no round, and were queued one by one
  std::uint64_t changes = 0;        // nodes of executables that were changed in place
  double preparation_seconds = 0;   // to capture, to make executable, to upload
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
  std::uint32_t crc = 0;  // of the file, and of what came back
  comparison whole;
  std::optional<replay_report>
      graph;  // of the last pass, if one was asked for; `whole` counts the best
  comparison device_only;
  std::string output;  // empty if none was asked for
};

[[nodiscard]] std::string to_text(const stage_report& report);
[[nodiscard]] std::string to_json(const stage_report& report);

}  // namespace weir::tool
