// probe/run.hpp - the parent: never touches CUDA; starts children, watches them, prints the lines
// in order.
#pragma once

#include "probe/options.hpp"
#include "probe/time_limits.hpp"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

namespace weir::conformance {

struct Result {
  std::vector<std::string> kv;  // "key=value", in the order in which they came
  std::string outcome;          // empty, or a marker after the values
  bool done = false;
  bool again = false;  // it ran into its limit: to be run once more, alone
  double seconds = 0;
};

// What a case that needs a second device answers where there is one.
inline constexpr const char* kOneDevice = "skipped=one_device";

// One run over the selected cases; cases are named by their index in cases(). One case's result is
// written by one thread only.
class Run {
 public:
  Run(const Options& options, FILE* out);

  const Options& options;
  std::vector<size_t> selected;
  std::vector<Result> results;
  std::atomic<int> restarts{0};
  std::atomic<long> children{0}, setup_ms{0};
  std::atomic<bool> one_device{false};  // a child has said so

  // Runs every selected case that is not done.
  void all();

  // Marks cases as finished, and prints what is finished up to the first that is not.
  void complete(const std::vector<size_t>& list);

  // A case has ended: complete, or, if it was late, to be run once more, for the GPU may have been
  // busy just then. Where there is no device that others use, late is wrong.
  void finish(size_t i, bool may_repeat);

  double limit_of(size_t i) const;  // seconds
  void summary() const;             // on stderr

 private:
  using Unit = std::vector<size_t>;  // the cases of one child

  void units(std::vector<Unit>* shared, std::vector<Unit>* alone, std::vector<Unit>* last) const;
  void run_unit(Unit list);
  void answer_for_one_device(Unit* list);
  bool over_budget(double spare = 0) const {
    return seconds_since(began_) > options.budget - spare;
  }

  FILE* out_;
  Clock::time_point began_ = Clock::now();
  std::mutex print_mutex_;
  size_t printed_ = 0;
  std::atomic<int> retries_{0};
};

// Runs one child over the list; returns the cases that it did not get to. `failures` counts the
// children in a row that could not be set up: after the second, the cases say so.
std::vector<size_t> run_child(Run& run, const std::vector<size_t>& list, int* failures,
                              bool may_repeat);

// "stream." of "stream.query"
std::string group_of(const std::string& name);

}  // namespace weir::conformance
