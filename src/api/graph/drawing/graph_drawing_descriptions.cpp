// SPDX-License-Identifier: Apache-2.0
// api/graph/drawing/graph_drawing_descriptions.cpp - describes the parameters of nodes without
// addresses.
#include "api/graph/drawing/graph_drawing_descriptions.hpp"

#include "api/core/check.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"
#include "api/profiler/names.hpp"

#include <weir/graph/nodes/conditional_node.hpp>

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string_view>

namespace weir::detail {
namespace {

std::string count_text(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Returns a text such as "64 rows of 1 KiB".
std::string extent_text(unsigned long long row_bytes, unsigned long long rows) {
  return rows == 1 ? bytes_text(row_bytes)
                   : fmt::format("{} rows of {}", rows, bytes_text(row_bytes));
}

using allocated_ranges = std::map<CUdeviceptr, std::size_t>;

// Returns true if an allocation node of the graph provides the address. Such memory does not exist
// yet, and a driver may report it as host memory.
bool is_allocated(const void* host, const allocated_ranges& allocated) {
  const CUdeviceptr address = device_address(host);
  const auto after = allocated.upper_bound(address);
  return after != allocated.begin() && address - std::prev(after)->first < std::prev(after)->second;
}

const char* memory_kind_text(CUmemorytype kind, const void* host,
                             const allocated_ranges& allocated) {
  if (kind == CU_MEMORYTYPE_HOST && is_allocated(host, allocated)) return "device";
  switch (kind) {
    case CU_MEMORYTYPE_HOST: return "host";
    case CU_MEMORYTYPE_DEVICE: return "device";
    case CU_MEMORYTYPE_ARRAY: return "array";
    default: return nullptr;
  }
}

std::string copy_text(CUgraphNode node, const allocated_ranges& allocated) {
  CUDA_MEMCPY3D p{};
  if (driver().cuGraphMemcpyNodeGetParams(node, &p) != CUDA_SUCCESS) return "copy";
  std::string text = "copy " + extent_text(p.WidthInBytes, p.Height * p.Depth);
  const char* const from = memory_kind_text(p.srcMemoryType, p.srcHost, allocated);
  const char* const to = memory_kind_text(p.dstMemoryType, p.dstHost, allocated);
  if (from != nullptr && to != nullptr) text += fmt::format(", {} to {}", from, to);
  return text;
}

std::string fill_text(CUgraphNode node) {
  CUDA_MEMSET_NODE_PARAMS p{};
  if (driver().cuGraphMemsetNodeGetParams(node, &p) != CUDA_SUCCESS) return "fill";
  return "fill " + extent_text(p.width * p.elementSize, p.height);
}

// Returns a function's name as in the source code, without parameters.
std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain{
      ::abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free};
  return plain == nullptr ? symbol : plain.get();
}

std::string kernel_text(CUgraphNode node) {
  CUDA_KERNEL_NODE_PARAMS p{};
  if (driver().cuGraphKernelNodeGetParams_v2(node, &p) != CUDA_SUCCESS) return "kernel";
  const char* symbol = nullptr;
  const CUresult answer = p.func != nullptr ? driver().cuFuncGetName(&symbol, p.func)
                                            : driver().cuKernelGetName(&symbol, p.kern);
  const std::string name =
      answer == CUDA_SUCCESS && symbol != nullptr ? ' ' + demangled(symbol) : "";
  const auto product = [](unsigned x, unsigned y, unsigned z) {
    return static_cast<unsigned long long>(x) * y * z;
  };
  return fmt::format("kernel{}, {} x {} threads", name, product(p.gridDimX, p.gridDimY, p.gridDimZ),
                     product(p.blockDimX, p.blockDimY, p.blockDimZ));
}

// Describes one wait or write by its value.
std::string step_text(const CUstreamBatchMemOpParams& step) {
  const bool wide = step.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                    step.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
  const bool waits = step.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                     step.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
  const unsigned long long value = wide ? step.waitValue.value64 : step.waitValue.value;
  if (!waits) return fmt::format("write value {}", value);
  constexpr unsigned comparison = 3;  // mask of the comparison in the flags
  static constexpr const char* signs[] = {">=", "==", "&", "nor"};
  return fmt::format("wait for value {} {}", signs[step.waitValue.flags & comparison], value);
}

std::string batch_text(CUgraphNode node) {
  CUDA_BATCH_MEM_OP_NODE_PARAMS p{};
  if (driver().cuGraphBatchMemOpNodeGetParams(node, &p) != CUDA_SUCCESS) return "values";
  std::size_t waits = 0;
  std::size_t writes = 0;
  const CUstreamBatchMemOpParams* last = nullptr;
  for (const CUstreamBatchMemOpParams& step : std::span{p.paramArray, p.count}) {
    switch (step.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      case CU_STREAM_MEM_OP_WAIT_VALUE_64: ++waits; break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      case CU_STREAM_MEM_OP_WRITE_VALUE_64: ++writes; break;
      default: continue;
    }
    last = &step;
  }
  if (waits + writes == 1) return step_text(*last);
  std::string text = waits == 0 ? "" : count_text(waits, "value wait");
  if (writes != 0) text += (waits == 0 ? "" : ", ") + count_text(writes, "value write");
  return text.empty() ? "value barrier" : text;
}

std::string conditional_text(graph_node node) {
  const auto conditional = find_conditional_metadata(node.graph().get(), node.get());
  if (!conditional) return "conditional";
  switch (static_cast<conditional_kind>(conditional->type)) {
    case conditional_kind::if_nonzero: return conditional->bodies.size() == 1 ? "if" : "if, else";
    case conditional_kind::while_nonzero: return "while";
    case conditional_kind::switch_number:
      return "switch of " + count_text(conditional->bodies.size(), "case");
  }
  return "conditional";
}

}  // namespace

std::string bytes_text(unsigned long long bytes) {
  if (bytes < 1024) return count_text(bytes, "byte");
  static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  unsigned long long size = bytes;
  while (size >= 1024 * 1024 && unit + 1 < std::size(units)) {
    size /= 1024;
    ++unit;
  }
  const unsigned long long tenths = (size * 10 + 512) / 1024;
  return tenths % 10 == 0 ? fmt::format("{} {}", tenths / 10, units[unit])
                          : fmt::format("{}.{} {}", tenths / 10, tenths % 10, units[unit]);
}

std::string body_title(unsigned type, std::size_t body) {
  switch (static_cast<conditional_kind>(type)) {
    case conditional_kind::if_nonzero: return body == 0 ? "if not 0" : "else";
    case conditional_kind::while_nonzero: return "while not 0";
    case conditional_kind::switch_number: break;
  }
  return fmt::format("case {}", body);
}

std::string node_descriptions::event_text(CUevent event) {
  const std::string name = find_name(object_kind::event, reinterpret_cast<std::uintptr_t>(event));
  if (!name.empty()) return fmt::format("event \"{}\"", name);
  return fmt::format("event {}", events_.try_emplace(event, events_.size() + 1).first->second);
}

std::string node_descriptions::of(graph_node node, node_kind kind) {
  const CUgraphNode handle = node.get();
  switch (kind) {
    case node_kind::kernel: return kernel_text(handle);
    case node_kind::copy: return copy_text(handle, allocated_);
    case node_kind::fill: return fill_text(handle);
    case node_kind::value_batch: return batch_text(handle);
    case node_kind::conditional: return conditional_text(node);
    case node_kind::empty: return {};
    case node_kind::event_record: {
      CUevent event = nullptr;
      const bool is_known = driver().cuGraphEventRecordNodeGetEvent(handle, &event) == CUDA_SUCCESS;
      return is_known ? "record " + event_text(event) : "record event";
    }
    case node_kind::event_wait: {
      CUevent event = nullptr;
      const bool is_known = driver().cuGraphEventWaitNodeGetEvent(handle, &event) == CUDA_SUCCESS;
      return is_known ? "wait for " + event_text(event) : "wait for event";
    }
    case node_kind::semaphore_signal: {
      CUDA_EXT_SEM_SIGNAL_NODE_PARAMS p{};
      const bool is_known =
          driver().cuGraphExternalSemaphoresSignalNodeGetParams(handle, &p) == CUDA_SUCCESS;
      return is_known ? "signal " + count_text(p.numExtSems, "semaphore") : "signal semaphores";
    }
    case node_kind::semaphore_wait: {
      CUDA_EXT_SEM_WAIT_NODE_PARAMS p{};
      const bool is_known =
          driver().cuGraphExternalSemaphoresWaitNodeGetParams(handle, &p) == CUDA_SUCCESS;
      return is_known ? "wait for " + count_text(p.numExtSems, "semaphore") : "wait for semaphores";
    }
    case node_kind::allocation: {
      CUDA_MEM_ALLOC_NODE_PARAMS p{};
      if (driver().cuGraphMemAllocNodeGetParams(handle, &p) != CUDA_SUCCESS) return "allocate";
      allocated_[p.dptr] = p.bytesize;
      return "allocate " + bytes_text(p.bytesize);
    }
    case node_kind::free: {
      CUdeviceptr address = 0;
      if (driver().cuGraphMemFreeNodeGetParams(handle, &address) != CUDA_SUCCESS) return "free";
      const auto known = allocated_.find(address);
      return known == allocated_.end() ? "free" : "free " + bytes_text(known->second);
    }
    case node_kind::host_function:
    case node_kind::child_graph: break;
  }
  return name_of(kind);
}

}  // namespace weir::detail
