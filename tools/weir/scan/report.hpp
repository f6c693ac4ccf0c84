// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/report.hpp - the results of a verified scan.
#pragma once

#include "scan/findings.hpp"
#include "scan/plan.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::tool::scan {

// Three ways to enqueue the work: in one stream, in several, and in several from graphs.
inline constexpr std::size_t columns = 3;

// The times of equal work, one for each way to enqueue it. Each is the best of the passes.
struct measured {
  std::string_view name;
  std::string_view key;
  std::uint64_t bytes = 0;
  std::array<double, columns> seconds{};

  [[nodiscard]] double gb_per_s(std::size_t column) const;
};

struct report {
  std::string file;
  std::uint64_t bytes = 0;
  plan job_plan;
  int passes = 0;
  std::string driver;
  std::string device_name;
  // The time to compile the kernels, or to find them in the cache, and to load them.
  double preparation_seconds = 0;
  findings found;  // equal for the device and the host
  double host_seconds = 0;
  measured copies;
  measured kernels;
  measured both;        // copies and kernels of chunks in pinned memory
  measured from_file;   // like `both`, and the file is read
  std::string picture;  // the file of the drawn histogram; empty if none was requested

  // Returns the throughput of copies and kernels together, relative to the slower of the two alone.
  [[nodiscard]] double relative_to_slower(std::size_t column) const;
};

// Returns the report with box-drawing and block characters, or, without `utf8`, in ASCII.
[[nodiscard]] std::string to_text(const report& report, bool utf8);
[[nodiscard]] std::string to_json(const report& report);

}  // namespace weir::tool::scan
