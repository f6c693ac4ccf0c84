// SPDX-License-Identifier: Apache-2.0
// model/graph/node_work.hpp - converts the parameters of nodes to work objects, and captured work
// to parameters.
#pragma once

#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/model/graph/graph_node.hpp"
#include "embedded/model/memory/memory_access.hpp"
#include "embedded/model/stream/operations.hpp"

namespace weir::embedded::model {

class context;

// The owner of the memory of one side of a copy. `context_owned` also stands for host memory.
// `unowned` stands for memory of pools and for mapped memory.
enum class memory_ownership : std::uint8_t { context_owned, unowned, graph_owned };

// The memory of one side of a copy: its type as the program declared it, which may be
// CU_MEMORYTYPE_UNIFIED, and its owner.
struct operand_info {
  abi::CUmemorytype declared_type = abi::CU_MEMORYTYPE_DEVICE;
  memory_ownership ownership = memory_ownership::context_owned;

  friend bool operator==(operand_info, operand_info) noexcept = default;
};

// The properties of a node's memory that a change of the node in an executable must keep. `src` and
// `dst` are set for a copy. The devices are set only if the process has several devices: for the
// memory of a copy or memset, and for the context of value operations. The device is -1 if unknown,
// and for host memory. A memset may therefore change to and from host memory.
struct node_operands {
  operand_info src{};
  operand_info dst{};
  std::int8_t src_device = -1;
  std::int8_t dst_device = -1;
  bool fixed = false;  // the node accepts no other copy

  // Returns true if a node with these properties may get memory with the properties `replacement`.
  // An unknown device agrees with every device. Ignores `fixed`.
  [[nodiscard]] bool may_become(const node_operands& replacement) const noexcept {
    const auto agree = [](int current, int requested) {
      return current == requested || current < 0 || requested < 0;
    };
    return src == replacement.src && dst == replacement.dst &&
           agree(src_device, replacement.src_device) && agree(dst_device, replacement.dst_device);
  }
};
// Returns the properties of the memory of a node with these parameters; default values if the node
// has no such memory or if the memory was freed.
[[nodiscard]] node_operands operands_of(const node_params& params) noexcept;

// Convert the parameters of a node to work. They return CUDA_ERROR_INVALID_VALUE for parameters
// that no node may have: unknown memory, memory that `user` cannot access, ranges past the end of
// memory, sizes of 0, or a wrong layout. The default `user` may access all memory.
abi::CUresult to_work(const abi::CUDA_MEMSET_NODE_PARAMS& params, memset_work& out,
                      const memory_user& user = {}) noexcept;
abi::CUresult to_work(const abi::CUDA_MEMCPY3D& params, pitched_copy_work& out,
                      const memory_user& user = {}) noexcept;

// Convert captured work to the parameters of the node that the capture adds.
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

// Returns the memory_user, the context whose access to memory is checked, of a node that is not a
// copy node. If the process has one device, returns a memory_user that may access all memory.
[[nodiscard]] memory_user memory_user_of_node(abi::CUcontext context) noexcept;

// Returns the context that a memset node gets if the program gave the context `requested`. If the
// memory is on another device than `requested` and belongs to a context, the result is that
// context. Otherwise it is `requested`.
[[nodiscard]] abi::CUcontext context_for_memset(abi::CUdeviceptr memory,
                                                abi::CUcontext requested) noexcept;

// Returns true if the graph or a subgraph has a memset node whose context cannot access the node's
// memory. A capture can create such a node, and the program can revoke access after it added a
// node. A node whose memory was freed does not count.
[[nodiscard]] bool has_inaccessible_memset(const graph& source_graph) noexcept;

}  // namespace weir::embedded::model
