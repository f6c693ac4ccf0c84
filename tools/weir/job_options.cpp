// SPDX-License-Identifier: Apache-2.0
// tools/weir/job_options.cpp - names, ranges and descriptions of the common options.
#include "job_options.hpp"

#include <CLI/CLI.hpp>

#include <limits>

namespace weir::tool {

std::string refuse_empty(const std::string& name) {
  return name.empty() ? "the name of the file is empty" : "";
}

void add_job_options(CLI::App& command, job_options& parsed) {
  command.add_option("FILE", parsed.file, "The file; without one, the compiler's own cc1plus")
      ->check(refuse_empty);
  command
      .add_option("--chunk", parsed.chunk_bytes,
                  "Size of a chunk, with K, M or G for powers of 1024")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30))
      ->capture_default_str();
  command
      .add_option("--streams", parsed.streams, "Number of streams that one stream is compared with")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      .add_option("--in-flight", parsed.in_flight, "Number of chunks that are under way at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command.add_option("--device", parsed.device, "Number of the device")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()))
      ->capture_default_str();
  command.add_option("--passes", parsed.passes, "How often each is measured; the best counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_flag("--json", parsed.json, "Print the report as JSON");
}

}  // namespace weir::tool
