// model/node_work.hpp - from the parameters of graph nodes to the work that they do, and back for captured work.
#pragma once

#include <span>

#include "driver/abi.hpp"
#include "embedded/model/graph_node.hpp"
#include "embedded/model/work.hpp"

namespace weir::embedded::model {

class context;

// Which kinds of memory a copy goes from and to.
struct copy_sides {
  bool from_host = false;
  bool to_host = false;

  friend bool operator==(copy_sides, copy_sides) noexcept = default;
};
[[nodiscard]] copy_sides sides_of(const node_params& params) noexcept;

// What a node of these parameters does. CUDA_ERROR_INVALID_VALUE for parameters that no node may have: memory that the
// driver does not know, ranges past its end, sizes of 0.
abi::CUresult to_work(const abi::CUDA_MEMSET_NODE_PARAMS& params, set_work& out) noexcept;
abi::CUresult to_work(const abi::CUDA_MEMCPY3D& params, pitched_copy_work& out) noexcept;

// May a node have these operations?
abi::CUresult check_operations(std::span<const abi::CUstreamBatchMemOpParams> operations);

// The parameters of the node that captured work becomes.
[[nodiscard]] set_params params_of(const set_work& work, const context& in) noexcept;
[[nodiscard]] copy_params params_of(const copy_work& work, const context& in) noexcept;
[[nodiscard]] copy_params params_of(const pitched_copy_work& work, const context& in) noexcept;
[[nodiscard]] inline abi::CUDA_HOST_NODE_PARAMS params_of(const host_work& work, const context&) noexcept {
  return {work.function, work.data};
}
[[nodiscard]] value_params params_of(const value_wait& work, const context& in);
[[nodiscard]] value_params params_of(const value_write& work, const context& in);

// Does the operation wait for a value?
[[nodiscard]] bool is_wait(const abi::CUstreamBatchMemOpParams& operation) noexcept;

}  // namespace weir::embedded::model
