// SPDX-License-Identifier: Apache-2.0
// model/graph/node_work.hpp - converts node parameters to work, and captured work to parameters.
#pragma once

#include <cstdint>
#include <span>

#include "driver/abi.hpp"
#include "embedded/model/graph/graph_node.hpp"
#include "embedded/model/memory/memory_access.hpp"
#include "embedded/model/stream/operations.hpp"

namespace weir::embedded::model {

class context;

// The owner of the memory of a copy's side: a context or the host, a graph, or neither (pools and
// mapped memory).
enum class memory_ownership : std::uint8_t { context_owned, unowned, graph_owned };

// The declared memory type of a copy's side, possibly unified, and the owner of its memory.
struct operand_info {
  abi::CUmemorytype declared_type = abi::CU_MEMORYTYPE_DEVICE;
  memory_ownership ownership = memory_ownership::context_owned;

  friend bool operator==(operand_info, operand_info) noexcept = default;
};

// The properties of a node's memory that an executable keeps. For a copy: the kinds of memory of
// both sides. With several devices also the devices of a copy's or memset's memory, and of the
// context of value operations. A memset may change to host memory, which is on no device (-1).
struct node_operands {
  operand_info src{};
  operand_info dst{};
  std::int8_t src_device = -1;
  std::int8_t dst_device = -1;
  bool fixed = false;  // no change is allowed

  [[nodiscard]] bool may_become(const node_operands& replacement) const noexcept {
    const auto agree = [](int current, int requested) {
      return current == requested || current < 0 || requested < 0;
    };
    return src == replacement.src && dst == replacement.dst &&
           agree(src_device, replacement.src_device) && agree(dst_device, replacement.dst_device);
  }
};
[[nodiscard]] node_operands operands_of(const node_params& params) noexcept;

// Convert parameters to work. Return CUDA_ERROR_INVALID_VALUE for parameters that no node may have:
// unknown memory, memory that the user cannot access, ranges past its end, or sizes of 0.
abi::CUresult to_work(const abi::CUDA_MEMSET_NODE_PARAMS& params, memset_work& out,
                      const memory_user& user = {}) noexcept;
abi::CUresult to_work(const abi::CUDA_MEMCPY3D& params, pitched_copy_work& out,
                      const memory_user& user = {}) noexcept;

// Returns an error if a node may not have these operations.
abi::CUresult check_operations(std::span<const abi::CUstreamBatchMemOpParams> operations);

// Convert captured work to the parameters of its node.
[[nodiscard]] memset_params params_of(const memset_work& work,
                                      const context& owner_context) noexcept;
[[nodiscard]] copy_params params_of(const copy_work& work, const context& owner_context) noexcept;
[[nodiscard]] copy_params params_of(const pitched_copy_work& work,
                                    const context& owner_context) noexcept;
[[nodiscard]] inline abi::CUDA_HOST_NODE_PARAMS params_of(const host_work& work,
                                                          const context&) noexcept {
  return {work.function, work.data};
}
[[nodiscard]] value_params params_of(const value_wait& work, const context& owner_context);
[[nodiscard]] value_params params_of(const value_write& work, const context& owner_context);

// Returns true if the operation waits for a value.
[[nodiscard]] bool is_wait(const abi::CUstreamBatchMemOpParams& operation) noexcept;

// Return the user whose access is checked for a node of a context, and for a copy node.
[[nodiscard]] memory_user memory_user_of_node(abi::CUcontext context) noexcept;
[[nodiscard]] memory_user memory_user_of_copy_node(abi::CUcontext context) noexcept;

// Returns the context of a memset node for which `requested` was given. For memory that a context
// owns on another device it is that context.
[[nodiscard]] abi::CUcontext context_for_memset(abi::CUdeviceptr memory,
                                                abi::CUcontext requested) noexcept;

// Returns a memset node, in the graph or a subgraph, whose context cannot access its memory, or
// null. Captures can create them, and access can be revoked later.
[[nodiscard]] const graph_node* find_inaccessible_memset(const graph& source_graph) noexcept;

}  // namespace weir::embedded::model
