// SPDX-License-Identifier: Apache-2.0
// tools/weir/run/child_run.hpp - runs a command to its end and keeps its output.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace weir::tool::run {

// A variable of the environment and its value.
using variable = std::pair<std::string, std::string>;

struct child_outcome {
  enum class ending : unsigned char { exited, signalled, timed_out };
  ending how = ending::exited;
  int status = 0;      // the exit status, or the number of the signal
  std::string output;  // standard output and standard error, in the order of their writes

  [[nodiscard]] bool succeeded() const noexcept { return how == ending::exited && status == 0; }
  // Returns how the child ended: "ended with status 1".
  [[nodiscard]] std::string text(std::chrono::seconds limit) const;
};

// Runs `command` with these variables in addition to the tool's environment, and waits for its end.
// Kills its process group after `limit`. Throws failure if the command cannot be started.
//
// Thread safety: may be called from any thread.
[[nodiscard]] child_outcome run_child(const std::vector<std::string>& command,
                                      const std::vector<variable>& environment,
                                      std::chrono::seconds limit);

}  // namespace weir::tool::run
