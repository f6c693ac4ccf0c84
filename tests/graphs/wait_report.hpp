// SPDX-License-Identifier: Apache-2.0
// graphs/wait_report.hpp - a summary of calls that waited for blocked streams.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <span>
#include <string>

namespace weir::graphs {

// Any thread may add to it.
class wait_report {
 public:
  void add(std::span<const std::string> names, std::uint64_t seed) {
    const std::lock_guard lock{mutex_};
    for (const std::string& name : names) {
      ++count_;
      ++of_.try_emplace(name, kind{0, seed}).first->second.count;
    }
  }

  // Prints nothing if there were none.
  void print() {
    const std::lock_guard lock{mutex_};
    if (count_ == 0) return;
    std::printf("%llu %s waited for what was held:\n", count_, count_ == 1 ? "call" : "calls");
    for (const auto& [name, of] : of_)
      std::printf("  %llu %s, first in seed %llu\n", of.count, name.c_str(),
                  static_cast<unsigned long long>(of.first_seed));
  }

 private:
  struct kind {
    unsigned long long count;
    std::uint64_t first_seed;
  };
  std::mutex mutex_;
  unsigned long long count_ = 0;
  std::map<std::string, kind> of_;
};

}  // namespace weir::graphs
