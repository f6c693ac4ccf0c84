// SPDX-License-Identifier: Apache-2.0
// model/stream/value_batch.hpp - waits for and writes to words of memory, submitted as a batch.
#pragma once

#include <vector>

#include "embedded/model/stream/operations.hpp"

namespace weir::embedded::model {

class stream;

// Submits the operations to a stream in their order, as one step. Throws std::bad_alloc without
// effect. May be called from any thread.
void submit_value_batch(stream& target_stream, std::vector<value_work> works);

}  // namespace weir::embedded::model
