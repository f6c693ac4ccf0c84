// SPDX-License-Identifier: Apache-2.0
// harness/figure.hpp - a figure: one measured number, and its budget.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

enum class better { less, more };

// The drivers on which a figure is meaningful.
enum class driver_filter { any, embedded, gpu };

inline constexpr double no_budget = std::numeric_limits<double>::quiet_NaN();

// Thrown by a measurement that this machine cannot make; the text names what is missing.
class unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A line of the table. Each file of this folder answers one question, and defines its figures at
// namespace scope; defining one registers it. The command line selects figures by name.
struct figure {
  std::string name;
  std::string unit;
  double budget = no_budget;
  bench::better better = bench::better::less;
  driver_filter runs_on = driver_filter::any;
  driver_filter budget_on =
      driver_filter::any;  // on other drivers the value is shown without a budget
  bool alone =
      false;  // needs a fresh process, or spoils its process: a copy of this program measures it
  std::function<double()> measure;
};

class registration {
 public:
  explicit registration(figure f);
};

// Returns all figures, in the order of file names, and in a file in the order of definition.
[[nodiscard]] std::span<const figure> all_figures();

}  // namespace bench
