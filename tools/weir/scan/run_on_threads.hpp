// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/run_on_threads.hpp - runs a function on several host threads.
#pragma once

#include <functional>

namespace weir::tool::scan {

// Runs work(0) .. work(count - 1) concurrently, the first on the calling thread. Returns when all
// have ended, then throws the first exception of them. A `work` that waits for others must notice
// if they fail.
void run_on_threads(int count, const std::function<void(int)>& work);

}  // namespace weir::tool::scan
