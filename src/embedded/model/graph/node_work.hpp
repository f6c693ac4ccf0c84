// model/node_work.hpp - from the parameters of graph nodes to the work that they do, and back for
// captured work.
#pragma once

#include <cstdint>
#include <span>

#include "driver/abi.hpp"
#include "embedded/model/graph/graph_node.hpp"
#include "embedded/model/memory/memory_access.hpp"
#include "embedded/model/stream/work.hpp"

namespace weir::embedded::model {

class context;

// Whose memory a copy's side is: of a context or the host; of none, as that of pools and mapped
// memory; or of a graph.
enum class memory_ownership : std::uint8_t { context_owned, unowned, graph_owned };

// What a copy's side is told to be, perhaps by its address alone, and its memory.
struct operand_info {
  abi::CUmemorytype declared_type = abi::CU_MEMORYTYPE_DEVICE;
  memory_ownership ownership = memory_ownership::context_owned;

  friend bool operator==(operand_info, operand_info) noexcept = default;
};

// What stays of a node in an executable: which kinds of memory a copy goes from and to and, where
// there are several devices, on which ones: those of a copy's and a set's memory, and of the
// context of a batch of values. A set may take memory of the host, which is on none (-1), in place
// of a device's.
struct node_operands {
  operand_info from{};
  operand_info to{};
  std::int8_t from_device = -1;
  std::int8_t to_device = -1;
  bool fixed = false;  // stays what it is in every way

  [[nodiscard]] bool may_become(const node_operands& other) const noexcept {
    const auto agree = [](int one, int another) {
      return one == another || one < 0 || another < 0;
    };
    return from == other.from && to == other.to && agree(from_device, other.from_device) &&
           agree(to_device, other.to_device);
  }
};
[[nodiscard]] node_operands operands_of(const node_params& params) noexcept;

// What a node of these parameters does. CUDA_ERROR_INVALID_VALUE for parameters that no node may
// have: memory that the driver does not know, or that the user does not reach, ranges past its end,
// sizes of 0.
abi::CUresult to_work(const abi::CUDA_MEMSET_NODE_PARAMS& params, memset_work& out,
                      const memory_user& by = {}) noexcept;
abi::CUresult to_work(const abi::CUDA_MEMCPY3D& params, pitched_copy_work& out,
                      const memory_user& by = {}) noexcept;

// May a node have these operations?
abi::CUresult check_operations(std::span<const abi::CUstreamBatchMemOpParams> operations);

// The parameters of the node that captured work becomes.
[[nodiscard]] memset_params params_of(const memset_work& work, const context& in) noexcept;
[[nodiscard]] copy_params params_of(const copy_work& work, const context& in) noexcept;
[[nodiscard]] copy_params params_of(const pitched_copy_work& work, const context& in) noexcept;
[[nodiscard]] inline abi::CUDA_HOST_NODE_PARAMS params_of(const host_work& work,
                                                          const context&) noexcept {
  return {work.function, work.data};
}
[[nodiscard]] value_params params_of(const value_wait& work, const context& in);
[[nodiscard]] value_params params_of(const value_write& work, const context& in);

// Does the operation wait for a value?
[[nodiscard]] bool is_wait(const abi::CUstreamBatchMemOpParams& operation) noexcept;

}  // namespace weir::embedded::model
