// scan/report.hpp - what a verified scan found out, for people and for programs.
#pragma once

#include "scan/findings.hpp"
#include "scan/plan.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::tool::scan {

// How the work is queued: in one stream, in several, and there from graphs.
inline constexpr std::size_t columns = 3;

// The same work in each of these ways; the best of the passes.
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
  double preparation_seconds = 0;  // to compile the kernels, or find them compiled, and load them
  findings found;                  // by the device and by the host
  double host_seconds = 0;
  measured copies;
  measured kernels;
  measured both;        // of chunks that are in pinned memory
  measured from_file;   // and reading
  std::string picture;  // the file that the histogram was drawn to; empty if none was asked for

  // The throughput of both, beside that of the slower of them alone.
  [[nodiscard]] double relative_to_slower(std::size_t column) const;
};

// With box and block characters, or in ASCII.
[[nodiscard]] std::string to_text(const report& report, bool utf8);
[[nodiscard]] std::string to_json(const report& report);

}  // namespace weir::tool::scan
