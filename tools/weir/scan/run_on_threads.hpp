// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/run_on_threads.hpp - runs a function on several host threads.
#pragma once

#include <functional>

namespace weir::tool::scan {

// Runs work(0) .. work(count - 1) concurrently, the first on the calling thread. Waits until all
// calls have ended. If calls have thrown, then throws the exception of the first of them by number.
// If one call waits for another, it must notice that the other has failed.
void run_on_threads(int count, const std::function<void(int)>& work);

}  // namespace weir::tool::scan
