// model/random_order.hpp - one of the orders that a graph allows.
#pragma once

#include <cstdint>
#include <vector>

#include "embedded/model/graph/flat_graph.hpp"

namespace weir::embedded::model {

// The nodes that are in no body, each behind those that it depends on; which of them comes next,
// where several may, follows from the seed. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::uint32_t> random_order(const flat_graph& of, std::uint64_t seed);

}  // namespace weir::embedded::model
