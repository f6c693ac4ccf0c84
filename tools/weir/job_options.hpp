// SPDX-License-Identifier: Apache-2.0
// tools/weir/job_options.hpp - options that `weir scan` and `weir stage` have in common.
#pragma once

#include <CLI/App.hpp>

#include <cstdint>
#include <string>

namespace weir::tool {

struct job_options {
  // Takes the defaults from the job's plan.
  template <class Plan>
  explicit job_options(const Plan& plan)
      : chunk_bytes{plan.chunk_bytes}, streams{plan.streams}, in_flight{plan.in_flight} {}

  std::string file;  // empty: default_input()
  std::uint64_t chunk_bytes;
  int streams;
  int in_flight;
  int device = 0;
  int passes = 2;
  bool json = false;
};

// Adds FILE, --chunk, --streams, --in-flight, --device, --passes and --json to a command. `parsed`
// holds the defaults and must exist until the command line is parsed.
void add_job_options(CLI::App& command, job_options& parsed);

// Returns true if the file name is "-", which stands for standard input or standard output.
[[nodiscard]] bool is_standard_stream(const std::string& name) noexcept;

// A validator that refuses empty file names, which a script passes if its variable is not set.
[[nodiscard]] std::string refuse_empty(const std::string& name);

}  // namespace weir::tool
