// harness/figure.hpp - a figure: one number that is measured, and what it has to be.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

enum class better { less, more };

// On which driver a figure means something.
enum class driver_filter { any, embedded, gpu };

inline constexpr double no_budget = std::numeric_limits<double>::quiet_NaN();

// Thrown by a measurement that this machine cannot make; the text says what is missing.
class unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A line of the table. Each file of this folder asks one question, and defines the figures that
// answer it at namespace scope; defining one registers it. The command line selects by the name.
struct figure {
  std::string name;
  std::string unit;
  double budget = no_budget;
  bench::better better = bench::better::less;
  driver_filter runs_on = driver_filter::any;
  driver_filter budget_on =
      driver_filter::any;  // elsewhere the value is shown, and nothing is asked of it
  bool alone =
      false;  // it spoils its process or needs a fresh one: a copy of this program measures it
  std::function<double()> measure;
};

class registration {
 public:
  explicit registration(figure f);
};

// All of them, in the order of their files' names and, in a file, of their definition.
[[nodiscard]] std::span<const figure> all_figures();

}  // namespace bench
