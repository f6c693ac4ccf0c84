// SPDX-License-Identifier: Apache-2.0
// harness/report.hpp - writes results as a table on the terminal and as JSON.
#pragma once

#include "harness/figure.hpp"

#include <optional>
#include <string>
#include <vector>

namespace bench {

struct outcome {
  const figure* what = nullptr;
  std::optional<double> value;  // none if this machine cannot measure it
  std::string reason;
  bool failed = false;        // the measurement was possible but failed
  double budget = no_budget;  // the budget on this driver
  std::string device;

  [[nodiscard]] bool has_budget() const;
  // Returns nothing if there is no budget or no value.
  [[nodiscard]] std::optional<bool> is_within_budget() const;
};

// Print the table's head, and one line of it. Lines are printed as they are measured.
void print_head();
void print_line(const outcome& o);

// Writes a list of {"name", "value", "unit", "budget", "better", "met", "device"}. value, budget
// and met may be null, and a line without a value has a "note" with the reason. Throws
// std::runtime_error.
void write_json(const std::string& path, const std::vector<outcome>& outcomes);

}  // namespace bench
