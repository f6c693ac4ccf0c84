// SPDX-License-Identifier: Apache-2.0
// compile/host/process.hpp - another program, run to its end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weir::compile {

struct process_result {
  int status;  // what it exited with; 128 and the signal where it was killed; -1 where it could not
               // be started
  std::string output;  // stdout and stderr together
};

// Runs `arguments`, the first being the program's path, in `folder`, without a shell and with the C
// locale's messages.
[[nodiscard]] process_result run_process(const std::vector<std::string>& arguments,
                                         const std::filesystem::path& folder);

// The file that a shell would run for this name; empty where there is none. A name with a slash is
// a path.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace weir::compile
