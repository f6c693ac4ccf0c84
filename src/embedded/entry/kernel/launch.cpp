// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/launch.cpp - cuLaunchKernel and its other forms.
#include <memory>
#include <span>
#include <utility>

#include "embedded/engine/waiting.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/kernel/launch_attributes.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/kernel/function.hpp"
#include "embedded/model/kernel/kernel_work.hpp"

namespace weir::embedded::entry {

namespace {

// The arguments of a launch call, as the program passed them.
struct launch_request {
  CUfunction function;
  CUstream stream;
  model::launch_shape shape;
  std::span<const CUlaunchAttribute> attributes;
  void* const* params;
  void* const* extra;
};

// A launch whose arguments were checked. Keeps the function's image loaded.
struct validated_launch {
  const model::function* function = nullptr;
  std::shared_ptr<const model::module_image> image;
  launch_attributes attributes;
  model::kernel_arguments arguments;
  // The capture that the stream is in, or null. Read once, because another thread may end it.
  model::capture* active_capture = nullptr;
};

// Returns true if there is no preferred cluster, or it is a multiple of the required cluster size.
bool is_possible(const weir_extent& preferred, const weir_extent& cluster) noexcept {
  const bool is_none = preferred.x == 0 && preferred.y == 0 && preferred.z == 0;
  return is_none || model::is_multiple(preferred, cluster);
}

// Finds the function and image of a launch. The function must belong to the stream's context.
CUresult find_kernel(CUfunction handle, const model::stream& target_stream, validated_launch& out) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  model::context& stream_context = target_stream.owner().base();
  model::function* found = nullptr;
  if (const CUresult error = model::find_function(handle, &stream_context, found)) return error;
  if (&found->owner() != &stream_context) return CUDA_ERROR_INVALID_HANDLE;
  out.function = found;
  out.image = found->image();
  return out.image ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// Returns true if some, but not all, dimensions are 0.
bool is_partly_zero(const weir_extent& size) noexcept {
  const bool is_none = size.x == 0 && size.y == 0 && size.z == 0;
  return !is_none && (size.x == 0 || size.y == 0 || size.z == 0);
}

// Checks the shape of a launch. As on an H200, an error invalidates the stream's capture, except
// for a cluster in which some dimensions are 0. Other errors of a launch do not invalidate it.
CUresult check_launch_shape(validated_launch& launch, model::stream& target_stream) {
  model::launch_shape& shape = launch.attributes.shape;
  if (is_partly_zero(shape.cluster)) [[unlikely]]
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const weir_extent cluster = shape.cluster.x != 0 ? shape.cluster : launch.function->cluster();
  if (!is_possible(launch.attributes.preferred_cluster, cluster)) [[unlikely]]
    return model::invalidate_capture(target_stream, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  const CUresult status = model::check_shape(*launch.function, shape);
  return status == CUDA_SUCCESS ? status : model::invalidate_capture(target_stream, status);
}

CUresult validate_launch(const launch_request& request, model::stream& target_stream,
                         validated_launch& out) {
  if (const CUresult error = find_kernel(request.function, target_stream, out)) return error;
  if (request.attributes.data() == nullptr && !request.attributes.empty())
    return CUDA_ERROR_INVALID_VALUE;
  out.attributes.shape = request.shape;
  out.active_capture = target_stream.capture();
  if (const CUresult error =
          read_attributes(request.attributes, out.active_capture, out.attributes))
    return error;
  if (const CUresult error = check_launch_shape(out, target_stream)) return error;
  return model::kernel_arguments::read(out.function->kernel(), request.params, request.extra,
                                       out.arguments);
}

// The events of a launch, which may be null, have to belong to the context of the kernel.
CUresult check_event_contexts(const validated_launch& launch) {
  for (const model::event* const event :
       {launch.attributes.started_event, launch.attributes.done_event}) {
    if (event != nullptr && &event->owner() != &launch.function->owner())
      return CUDA_ERROR_INVALID_HANDLE;
  }
  return CUDA_SUCCESS;
}

// Records started_event and done_event in the capturing stream. Both then stand for the node of the
// kernel: a stream that waits for one of them waits for the end of the kernel.
CUresult capture_launch_events(const validated_launch& launch, model::stream& target_stream) {
  for (model::event* const event :
       {launch.attributes.started_event, launch.attributes.done_event}) {
    if (event == nullptr) continue;
    if (const CUresult error = model::record_event(*event, target_stream, 0)) return error;
  }
  return CUDA_SUCCESS;
}

// Adds the launch to the graph that the stream captures into.
CUresult capture_launch(CUfunction handle, const validated_launch& launch,
                        model::stream& target_stream) {
  if (const CUresult error = check_event_contexts(launch)) return error;
  const launch_attributes& attributes = launch.attributes;
  const model::context& owner_context = launch.function->owner();
  const int priority = attributes.priority.value_or(target_stream.priority());
  // As on an H200, a captured kernel has a scheduling policy even if the launch named none.
  auto inert_attributes = attributes.inert_attributes;
  inert_attributes.try_emplace(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                               CUlaunchAttributeValue{.clusterSchedulingPolicyPreference =
                                                          CU_CLUSTER_SCHEDULING_POLICY_SPREAD});
  const CUresult status = launch.active_capture->add_kernel(
      target_stream,
      {std::make_shared<const model::kernel_work>(owner_context, launch.function->kernel(),
                                                  launch.image, attributes.shape, launch.arguments,
                                                  priority),
       handle, nullptr, owner_context.handle(), std::move(inert_attributes)},
      attributes.programmatic ? model::launch_dependency::programmatic
                              : model::launch_dependency::full);
  return status == CUDA_SUCCESS ? capture_launch_events(launch, target_stream) : status;
}

// Submits the kernel to its stream, between the records of started_event and done_event, which may
// be null. Unloading a module waits for the work of its context, but a concurrent unload may miss
// this kernel. If the module was unloaded meanwhile, this function therefore waits for the kernel.
CUresult submit_launch(const validated_launch& launch, model::stream& target_stream) {
  model::event* const started_event = launch.attributes.started_event;
  model::event* const done_event = launch.attributes.done_event;
  if (const CUresult error = check_event_contexts(launch)) return error;
  const auto record = [&](model::event* event) {
    return event == nullptr ? CUDA_SUCCESS : model::record_event(*event, target_stream, 0);
  };
  if (const CUresult error = record(started_event)) return error;
  const engine::point end =
      model::submit_kernel(target_stream, launch.function->kernel(), launch.image,
                           launch.attributes.shape, launch.arguments);
  if (!launch.function->is_open()) [[unlikely]]
    engine::wait(end);
  return record(done_event);
}

CUresult launch(const launch_request& request) {
  return guarded_outside_host_functions(
      with_stream_for_work(request.stream, [&](model::stream& target_stream) {
        validated_launch validated;
        if (const CUresult error = validate_launch(request, target_stream, validated)) return error;
        return validated.active_capture != nullptr
                   ? capture_launch(request.function, validated, target_stream)
                   : submit_launch(validated, target_stream);
      }));
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** params, void** extra) {
  const model::launch_shape shape{
      {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {0, 0, 0}, shared, false};
  return launch({function, stream, shape, {}, params, extra});
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params,
                          void** extra) {
  if (config == nullptr) return reject_argument();
  const model::launch_shape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                                  {config->blockDimX, config->blockDimY, config->blockDimZ},
                                  {0, 0, 0},
                                  config->sharedMemBytes,
                                  false};
  return launch(
      {function, config->hStream, shape, {config->attrs, config->numAttrs}, params, extra});
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream,
                                   void** params) {
  const model::launch_shape shape{
      {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {0, 0, 0}, shared, true};
  return launch({function, stream, shape, {}, params, nullptr});
}

}  // namespace weir::embedded::entry
