// job_options.hpp - the options that the jobs of the tool have in common.
#pragma once

#include <CLI/App.hpp>

#include <cstdint>
#include <string>

namespace weir::tool {

struct job_options {
  // The defaults are those of the job's plan.
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
// holds the defaults, and has to be there when the command line is read.
void add_job_options(CLI::App& command, job_options& parsed);

// For names of files. An empty one is what a script gives whose variable was never set.
[[nodiscard]] std::string refuse_empty(const std::string& name);

}  // namespace weir::tool
