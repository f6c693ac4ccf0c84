// SPDX-License-Identifier: Apache-2.0
// api/memory/frees_in_captures.cpp - frees in streams that capture.
#include "api/memory/frees_in_captures.hpp"

#include "api/capture/capture_registry.hpp"
#include "api/capture/unjoined_streams.hpp"
#include "api/memory/captured_memory.hpp"
#include "api/memory/pending_uses.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/stream_state.hpp"

#include <optional>

namespace weir::detail {
namespace {

// Returns the open capture with this id, if the calling thread began it.
std::optional<active_capture> find_own_capture(unsigned long long id) noexcept {
  return capture_registry::instance().find_if([&](const capture_record& record) {
    return record.capture.id == id && record.capture.thread == unique_thread_id();
  });
}

// Makes the next operation of `stream` depend on all nodes of the graph that the capture with this
// id records into. The program may have begun the capture without naming the earlier nodes.
bool join_earlier_captures(CUstream stream, unsigned long long id) noexcept {
  const auto capture = find_own_capture(id);
  if (!capture) return false;
  try {
    join_leaves(stream, capture->graph, call_site{});
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

bool refused_for_capture(CUresult answer, CUstream stream) noexcept {
  return answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
         answer == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
         answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
         (answer != CUDA_SUCCESS && is_in_capture(stream));
}

bool is_participant_of_capture(CUstream stream, unsigned long long id) noexcept {
  const auto capture = capture_registry::instance().find_if([&](const capture_record& record) {
    return record.capture.id == id && record.has_stream(stream);
  });
  return capture.has_value();
}

CUstream stream_for_free(CUstream memory_stream, unsigned long long id) noexcept {
  // Considers only a capture that the calling thread began. Another thread may change the
  // dependencies of any other capture during the query.
  const auto capture = find_own_capture(id);
  if (!capture || capture->origin == memory_stream) return memory_stream;
  stream_capture_info info;
  if (try_query_capture(capture->origin, info) != CUDA_SUCCESS || info.has_ended(id) ||
      info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return memory_stream;
  try {
    const joined_stream joined{memory_stream, nullptr, unique_thread_id()};
    return find_unjoined({joined}, info, call_site{}).empty() ? capture->origin : memory_stream;
  } catch (...) {  // memory is exhausted; a free in memory_stream is always in order
    return memory_stream;
  }
}

unsigned long long freeing_capture(CUstream memory_stream,
                                   const captured_memory* allocated) noexcept {
  if (allocated == nullptr) return no_capture;
  const unsigned long long id = capture_id_of(memory_stream);
  if (id == no_capture || id == allocated->id) return id;
  const auto capture = find_own_capture(id);
  return capture && allocates_in(capture->graph, *allocated) ? id : no_capture;
}

bool prepare_free(const planned_free& plan) noexcept {
  const unsigned long long id = capture_of(plan.stream);
  if (id == invalidated_capture) return false;
  if (id != no_capture && id == plan.freeing)
    return id == plan.allocated->id || join_earlier_captures(plan.stream, id);
  return capture_of(plan.memory_stream) == id && plan.uses->all_in_capture(id) &&
         (plan.launches == nullptr || plan.launches->are_all_in_capture(id));
}

}  // namespace weir::detail
