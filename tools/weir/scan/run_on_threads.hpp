// scan/run_on_threads.hpp - several threads of the host that do the same.
#pragma once

#include <functional>

namespace weir::tool::scan {

// Runs work(0) .. work(count - 1) at the same time, the first on the calling thread. Returns when
// all have ended; then throws the first of what they threw. A work that could go on without end has
// to look at what makes it stop.
void run_on_threads(int count, const std::function<void(int)>& work);

}  // namespace weir::tool::scan
