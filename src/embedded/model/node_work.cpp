// model/node_work.cpp - parameters checked and turned into operations; captured work turned into parameters.
#include "embedded/model/node_work.hpp"

#include "embedded/model/box_copy.hpp"
#include "embedded/model/context.hpp"
#include "embedded/model/launch_plan.hpp"
#include "embedded/model/value_work.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::make_operation;
using engine::operation_kind;

namespace {

// Above this many bytes an operation takes so long that others should not wait behind it without need.
constexpr std::size_t long_bytes = 16 * 1024;

constexpr operation_kind kind_of(std::size_t bytes) {
  return bytes > long_bytes ? operation_kind::long_work : operation_kind::work;
}

// One of a plan's pitched copies.
struct copy_by_number {
  const pitched_copy_work* what;
  std::size_t number;

  void run() const noexcept { what->run(); }
};

struct nothing {
  void run() const noexcept {}
};

template <class Work>
bool does(const engine::operation& operation) noexcept {
  return operation.body == make_operation(Work{}).body;
}

template <class Work>
Work work_of(const engine::operation& operation) noexcept {
  return engine::operation{operation}.as<Work>();
}

bool is_linear(const pitched_copy_work& copy) noexcept { return copy.depth == 1 && copy.height == 1; }

// One side of a copy as a node's parameters tell it.
struct side_of_node {
  CUmemorytype type;
  void* host;
  CUdeviceptr device;
};

side_of_node side_of(const std::byte* at) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const allocation* in = address_map::find(address);
  const bool on_host = in == nullptr || in->on_host;
  return {on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, on_host ? const_cast<std::byte*>(at) : nullptr,
          on_host ? 0 : address};
}

}  // namespace

CUresult to_work(const CUDA_MEMSET_NODE_PARAMS& params, set_work& out) noexcept {
  const std::size_t element = params.elementSize;
  if (element != 1 && element != 2 && element != 4) return CUDA_ERROR_INVALID_VALUE;
  if (params.width == 0 || params.height == 0 || params.dst % element != 0) return CUDA_ERROR_INVALID_VALUE;
  std::size_t row = 0;
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(params.width, element, &row)) return CUDA_ERROR_INVALID_VALUE;
  if (params.height > 1) {
    if (params.pitch < row || params.pitch % element != 0) return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(params.pitch, params.height - 1, &bytes)) return CUDA_ERROR_INVALID_VALUE;
  }
  if (__builtin_add_overflow(bytes, row, &bytes)) return CUDA_ERROR_INVALID_VALUE;
  place to;
  if (const CUresult status = locate(params.dst, bytes, place_kind::known, to); status != CUDA_SUCCESS) return status;
  out = {to.at, params.pitch, params.width, params.height, params.value, params.elementSize};
  return CUDA_SUCCESS;
}

CUresult to_work(const CUDA_MEMCPY3D& params, pitched_copy_work& out) noexcept {
  const box_copy copy = describe(params);
  if (copy.size.empty()) return CUDA_ERROR_INVALID_VALUE;
  place to;
  place from;
  return lay_out(copy, to, from, out);
}

CUresult check_operations(std::span<const CUstreamBatchMemOpParams> operations) {
  value_work unused;
  for (const CUstreamBatchMemOpParams& operation : operations) {
    if (const CUresult status = make_work(operation, unused); status != CUDA_SUCCESS) return status;
  }
  return CUDA_SUCCESS;
}

set_params params_of(const set_work& work, const context& in) noexcept {
  return {{.dst = reinterpret_cast<CUdeviceptr>(work.to),
           .pitch = work.pitch,
           .value = work.value,
           .elementSize = work.element_size,
           .width = work.width,
           .height = work.height},
          in.handle()};
}

copy_params params_of(const copy_work& work, const context& in) noexcept {
  return params_of(pitched_copy_work{.to = work.to, .from = work.from, .width = work.bytes}, in);
}

copy_params params_of(const pitched_copy_work& work, const context& in) noexcept {
  const side_of_node to = side_of(work.to);
  const side_of_node from = side_of(work.from);
  CUDA_MEMCPY3D what{};
  what.srcMemoryType = from.type;
  what.srcHost = from.host;
  what.srcDevice = from.device;
  what.srcPitch = work.from_pitch;
  what.srcHeight = work.from_pitch == 0 ? 0 : work.from_slice / work.from_pitch;
  what.dstMemoryType = to.type;
  what.dstHost = to.host;
  what.dstDevice = to.device;
  what.dstPitch = work.to_pitch;
  what.dstHeight = work.to_pitch == 0 ? 0 : work.to_slice / work.to_pitch;
  what.WidthInBytes = work.width;
  what.Height = work.height;
  what.Depth = work.depth;
  return {what, in.handle()};
}

value_params params_of(const value_wait& work, const context& in) {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation = work.size == 4 ? CU_STREAM_MEM_OP_WAIT_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_64;
  operation.waitValue.address = reinterpret_cast<CUdeviceptr>(work.word);
  operation.waitValue.value64 = work.value;
  operation.waitValue.flags = work.comparison;
  return {in.handle(), {operation}};
}

value_params params_of(const value_write& work, const context& in) {
  CUstreamBatchMemOpParams operation{};
  operation.writeValue.operation = work.size == 4 ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WRITE_VALUE_64;
  operation.writeValue.address = reinterpret_cast<CUdeviceptr>(work.word);
  operation.writeValue.value64 = work.value;
  operation.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  return {in.handle(), {operation}};
}

bool is_wait(const CUstreamBatchMemOpParams& operation) noexcept {
  return operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || operation.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

copy_sides sides_of(const node_params& params) noexcept {
  const auto* const copy = std::get_if<copy_params>(&params);
  pitched_copy_work work;
  if (copy == nullptr || to_work(copy->what, work) != CUDA_SUCCESS) return {};
  return {side_of(work.from).type == CU_MEMORYTYPE_HOST, side_of(work.to).type == CU_MEMORYTYPE_HOST};
}

// The parameters were checked when the node got them.
void append_operations(const node_params& params, launch_plan& to) {
  if (const auto* host = std::get_if<CUDA_HOST_NODE_PARAMS>(&params)) {
    to.operations.push_back(make_operation(host_work{host->fn, host->userData}, operation_kind::host));
  } else if (const auto* set = std::get_if<set_params>(&params)) {
    const CUDA_MEMSET_NODE_PARAMS& p = set->what;
    const set_work work{reinterpret_cast<std::byte*>(p.dst), p.pitch, p.width, p.height, p.value, p.elementSize};
    to.operations.push_back(make_operation(work, kind_of(p.width * p.height * p.elementSize)));
  } else if (const auto* copy = std::get_if<copy_params>(&params)) {
    pitched_copy_work work;
    if (to_work(copy->what, work) != CUDA_SUCCESS) {
      to.operations.push_back(no_operation());  // the memory is gone since
    } else if (is_linear(work)) {
      to.operations.push_back(make_operation(copy_work{work.to, work.from, work.width}, kind_of(work.width)));
    } else {
      const std::size_t bytes = work.width * work.height * work.depth;
      to.pitched_copies.push_back(std::make_unique<pitched_copy_work>(work));
      to.operations.push_back(
          make_operation(copy_by_number{to.pitched_copies.back().get(), to.pitched_copies.size() - 1}, kind_of(bytes)));
    }
  } else if (const auto* values = std::get_if<value_params>(&params)) {
    for (const CUstreamBatchMemOpParams& operation : values->operations) {
      value_work work;
      const bool there = make_work(operation, work) == CUDA_SUCCESS;
      if (const auto* wait = std::get_if<value_wait>(&work); there && wait != nullptr) {
        to.operations.push_back(make_operation(*wait, operation_kind::wait_value));
      } else if (const auto* write = std::get_if<value_write>(&work); there && write != nullptr) {
        to.operations.push_back(make_operation(*write));
      } else {
        to.operations.push_back(no_operation());  // a barrier, or the memory is gone since
      }
    }
  }
}

bool may_become(std::span<const engine::operation> now, copy_sides sides, const node_params& params) {
  launch_plan wanted;
  append_operations(params, wanted);
  if (now.size() != wanted.operations.size()) return false;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const engine::operation& before = now[i];
    const engine::operation& after = wanted.operations[i];
    if (before.body != after.body) return false;
    if (does<set_work>(before)) {
      const auto a = work_of<set_work>(before);
      const auto b = work_of<set_work>(after);
      const bool same_rows = a.width == b.width && a.pitch == b.pitch && a.element_size == b.element_size;
      if (a.height != b.height || (a.height > 1 && !same_rows)) return false;
    } else if (does<copy_by_number>(before)) {
      const pitched_copy_work& a = *work_of<copy_by_number>(before).what;
      const pitched_copy_work& b = *work_of<copy_by_number>(after).what;
      if (a.width != b.width || a.height != b.height || a.depth != b.depth) return false;
    } else if (does<value_wait>(before)) {
      if (work_of<value_wait>(before).size != work_of<value_wait>(after).size) return false;
    } else if (does<value_write>(before)) {
      if (work_of<value_write>(before).size != work_of<value_write>(after).size) return false;
    }
  }
  return sides == sides_of(params);
}

void replace_operations(launch_plan& in, std::span<engine::operation> now, const node_params& params) {
  launch_plan wanted;
  append_operations(params, wanted);
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (does<copy_by_number>(now[i])) {
      *in.pitched_copies[now[i].as<copy_by_number>().number] = *wanted.pitched_copies.front();
    } else {
      now[i] = wanted.operations[i];
    }
  }
}

void refer_to_copies_of(launch_plan& plan, engine::operation& copied) noexcept {
  if (!does<copy_by_number>(copied)) return;
  auto& refers = copied.as<copy_by_number>();
  refers.what = plan.pitched_copies[refers.number].get();
}

engine::operation no_operation() noexcept { return make_operation(nothing{}); }

}  // namespace weir::embedded::model
