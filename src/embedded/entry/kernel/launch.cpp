// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/launch.cpp - cuLaunchKernel and its other forms.
#include <memory>
#include <span>

#include "embedded/engine/waiting.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/kernel/launch_attributes.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/kernel/function.hpp"
#include "embedded/model/kernel/kernel_work.hpp"

namespace weir::embedded::entry {

namespace {

// Submits the kernel to a stream of the function's context. The image is kept alive until the
// operation is submitted; afterwards unloading its module waits for the operation. A concurrent
// unload may miss the operation, so this call then waits for it.
CUresult submit(model::stream& target_stream, const model::function& kernel_function,
                const std::shared_ptr<const model::module_image>& image,
                const model::launch_shape& shape, const model::kernel_arguments& arguments) {
  const engine::point end =
      model::submit_kernel(target_stream, kernel_function.kernel(), image, shape, arguments);
  if (!kernel_function.is_open()) [[unlikely]]
    engine::wait(end);
  return CUDA_SUCCESS;
}

// The arguments of a launch, not yet validated.
struct launch_request {
  CUfunction function;
  CUstream stream;
  model::launch_shape shape;
  std::span<const CUlaunchAttribute> attributes;
  void* const* params;
  void* const* extra;
};

// Returns true if there is no preferred cluster, or it is a multiple of the required cluster size.
bool is_possible(const weir_extent& preferred, const weir_extent& cluster) noexcept {
  const bool is_none = preferred.x == 0 && preferred.y == 0 && preferred.z == 0;
  return is_none || model::is_multiple(preferred, cluster);
}

CUresult launch_into(model::process& p, model::stream& target_stream,
                     const launch_request& request) {
  if (request.function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  model::function* kernel_function = nullptr;
  if (const CUresult status =
          model::find_function(request.function, &target_stream.owner().base(), kernel_function);
      status != CUDA_SUCCESS)
    return status;
  if (&kernel_function->owner() != &target_stream.owner().base()) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<const model::module_image> image = kernel_function->image();
  if (!image) return CUDA_ERROR_INVALID_HANDLE;

  class model::capture* const active_capture = target_stream.capture();
  launch_attributes how;
  how.shape = request.shape;
  if (const CUresult status =
          read_attributes(p, request.attributes, active_capture != nullptr, how);
      status != CUDA_SUCCESS)
    return status;
  const weir_extent own = kernel_function->cluster();
  if (!is_possible(how.preferred_cluster, how.shape.cluster.x != 0 ? how.shape.cluster : own))
      [[unlikely]]
    return model::invalidate_capture(target_stream, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  // Among the errors of a launch, only an invalid shape invalidates a capture.
  if (const CUresult status = model::check_shape(*kernel_function, how.shape);
      status != CUDA_SUCCESS)
    return model::invalidate_capture(target_stream, status);
  model::kernel_arguments arguments;
  const CUresult status = model::kernel_arguments::read(kernel_function->kernel(), request.params,
                                                        request.extra, arguments);
  if (status != CUDA_SUCCESS) return status;

  if (active_capture != nullptr) {
    const int priority = how.priority.value_or(target_stream.priority());
    return active_capture->add_kernel(
        target_stream,
        {std::make_shared<const model::kernel_work>(kernel_function->owner(),
                                                    kernel_function->kernel(), image, how.shape,
                                                    arguments, priority),
         request.function, nullptr, kernel_function->owner().handle(), how.inert_attributes},
        how.programmatic);
  }
  for (const model::event* const each : {how.started_event, how.done_event}) {
    if (each != nullptr && &each->owner() != &kernel_function->owner())
      return CUDA_ERROR_INVALID_HANDLE;
  }
  const auto record = [&](model::event* each) {
    return each == nullptr ? CUDA_SUCCESS : model::record_event(*each, target_stream, 0);
  };
  if (const CUresult recorded = record(how.started_event); recorded != CUDA_SUCCESS)
    return recorded;
  if (const CUresult done = submit(target_stream, *kernel_function, image, how.shape, arguments);
      done != CUDA_SUCCESS)
    return done;
  return record(how.done_event);
}

CUresult launch(model::process& p, const launch_request& request) {
  model::stream* target_stream = nullptr;
  const CUresult status = find_stream_for_work(p, request.stream, target_stream);
  return status != CUDA_SUCCESS ? status : launch_into(p, *target_stream, request);
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** params, void** extra) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    const model::launch_shape shape{
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {0, 0, 0}, shared, false};
    return launch(p, {function, stream, shape, {}, params, extra});
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params,
                          void** extra) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (config->numAttrs != 0 && config->attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::launch_shape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                                    {0, 0, 0},
                                    config->sharedMemBytes,
                                    false};
    return launch(
        p, {function, config->hStream, shape, {config->attrs, config->numAttrs}, params, extra});
  });
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream,
                                   void** params) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    const model::launch_shape shape{
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {0, 0, 0}, shared, true};
    return launch(p, {function, stream, shape, {}, params, nullptr});
  });
}

}  // namespace weir::embedded::entry
