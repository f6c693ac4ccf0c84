// SPDX-License-Identifier: Apache-2.0
// api/graph/instantiation_failure.hpp - explains why a graph cannot be instantiated.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/graph/graph.hpp>

namespace weir::detail {

// Throws the error for an instantiation of `source` that the driver refused with `answer`. Names
// the reason and the node, as far as they can be determined.
[[noreturn, gnu::cold]] void fail_instantiation(abi::CUresult answer,
                                                const abi::CUDA_GRAPH_INSTANTIATE_PARAMS& params,
                                                graph_ref source, call_site at);

}  // namespace weir::detail
