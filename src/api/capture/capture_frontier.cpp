// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_frontier.cpp - reads and changes the dependencies of capturing streams.
#include <weir/capture/capture_frontier.hpp>
#include <weir/core/to_string.hpp>

#include "api/capture/capture_query.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/core/check.hpp"
#include "api/graph/driver_edges.hpp"

namespace weir {

using detail::throw_error;

namespace {

constexpr const char* update_call = "cuStreamUpdateCaptureDependencies";

bool is_known_kind(dependency_update how) noexcept {
  return how == dependency_update::add || how == dependency_update::set;
}

// Called after an update with edge data other than 0. Throws an error about the edge data if
// `answer` is a failure that they cause.
void check_edge_data(abi::CUresult answer, stream_ref stream, call_site at) {
  if (answer == abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
    throw_error(errc::call_requires_newer_driver, update_call, to_string(stream),
                "edge data other than 0 needs a driver for CUDA 12.3 or later; install a newer "
                "driver, or use plain edges",
                at);
  }
  if (answer == abi::CUDA_ERROR_INVALID_VALUE) {
    throw_error(errc::invalid_value, update_call, to_string(stream),
                "edge data other than 0 is valid only between kernels, with ports and types that "
                "both kernels support; use a plain edge",
                at);
  }
}

}  // namespace

void update_capture_dependencies(stream_ref stream, frontier_list nodes, dependency_update how,
                                 call_site at) {
  const char* const hint =
      "the stream is not capturing; begin a capture before setting its dependencies";
  const detail::stream_capture_info info = detail::require_capturing(stream, update_call, hint, at);
  if (!is_known_kind(how)) {
    throw_error(errc::invalid_value, update_call, to_string(stream),
                "the update is not a value of weir::dependency_update; use add or set", at);
  }
  detail::driver_frontier after{nodes, info.graph, update_call, at};
  const abi::CUresult answer = detail::set_frontier(stream.get(), after.nodes(), after.data(),
                                                    after.size(), static_cast<unsigned>(how));
  if (after.data() != nullptr) check_edge_data(answer, stream, at);
  detail::check(answer, update_call, stream, at);
}

}  // namespace weir
