// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/run_on_threads.cpp - runs a function on several threads and collects exceptions.
#include "scan/run_on_threads.hpp"

#include <exception>
#include <thread>
#include <vector>

namespace weir::tool::scan {

void run_on_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  const auto run = [&](int i) noexcept {
    try {
      work(i);
    } catch (...) {
      thrown[static_cast<std::size_t>(i)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < count; ++i) others.emplace_back(run, i);
    run(0);
  }
  for (const std::exception_ptr& what : thrown) {
    if (what) std::rethrow_exception(what);
  }
}

}  // namespace weir::tool::scan
