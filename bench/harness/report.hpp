// harness/report.hpp - what was measured, as a table on the terminal and as JSON.
#pragma once

#include "harness/figure.hpp"

#include <optional>
#include <string>
#include <vector>

namespace bench {

struct outcome {
  const figure* what = nullptr;
  std::optional<double> value;  // none where this machine cannot tell
  std::string reason;
  bool failed = false;        // it could have told, but something went wrong
  double budget = no_budget;  // what is asked on this driver
  std::string device;

  [[nodiscard]] bool has_budget() const;
  // Nothing where nothing is asked, or nothing was measured.
  [[nodiscard]] std::optional<bool> is_within_budget() const;
};

// The table's head, and one line of it. Lines are printed as they are measured.
void print_head();
void print_line(const outcome& o);

// Writes a list of {"name", "value", "unit", "budget", "better", "met", "device"}; value, budget
// and met are null where there is none, and a line without a value has a "note" that says why.
// Throws std::runtime_error.
void write_json(const std::string& path, const std::vector<outcome>& outcomes);

}  // namespace bench
