// model/value_batch.hpp - waits for and writes to words of memory that are submitted as one.
#pragma once

#include <vector>

#include "embedded/model/stream/value_work.hpp"

namespace weir::embedded::model {

class stream;

// Submits them to a stream, in their order, as one step. All or nothing: throws std::bad_alloc, and
// then none of them happens. Thread safety: from any thread.
void submit_value_batch(stream& in, std::vector<value_work> works);

}  // namespace weir::embedded::model
