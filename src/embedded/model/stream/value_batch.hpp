// SPDX-License-Identifier: Apache-2.0
// model/stream/value_batch.hpp - waits for and writes to words of memory, submitted as a batch.
#pragma once

#include <vector>

#include "embedded/model/stream/operations.hpp"

namespace weir::embedded::model {

class stream;

// Submits the operations to a stream in their order, without other work in between. Throws
// std::bad_alloc; no word is then written. May be called from any thread.
void submit_value_batch(stream& target_stream, std::vector<value_work> works);

}  // namespace weir::embedded::model
