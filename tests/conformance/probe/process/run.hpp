// SPDX-License-Identifier: Apache-2.0
// probe/process/run.hpp - the parent: never calls CUDA; starts children, watches them, prints the
// lines in order.
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
  std::vector<std::string> kv;  // "key=value", in the order of recording
  std::string outcome;          // empty, or a marker after the values
  bool done = false;
  bool again = false;  // exceeded its limit: runs once more, alone
  double seconds = 0;
};

// The outcome of a case that needs a second device if there is one device.
inline constexpr const char* kOneDevice = "skipped=one_device";

// A run over the selected cases. Cases are identified by their index in cases(). Only one thread
// writes a case's result.
class Run {
 public:
  Run(const Options& options, FILE* out);

  const Options& options;
  std::vector<size_t> selected;
  std::vector<Result> results;
  std::atomic<int> restarts{0};
  std::atomic<long> children{0}, setup_ms{0};
  std::atomic<bool> one_device{false};  // set when a child reports it

  // Runs every selected case that is not complete.
  void all();

  // Marks cases as complete, and prints the complete ones up to the first that is not.
  void complete(const std::vector<size_t>& list);

  // Records the end of a case: complete, or, after a timeout, to be repeated once, because the GPU
  // may have been busy. Without a shared device a timeout is a failure.
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

// Runs one child over the list; returns the cases that it did not reach. `failures` counts
// consecutive children that could not be set up: after the second, the cases record that.
std::vector<size_t> run_child(Run& run, const std::vector<size_t>& list, int* failures,
                              bool may_repeat);

// Returns "stream." for "stream.query".
std::string group_of(const std::string& name);

}  // namespace weir::conformance
