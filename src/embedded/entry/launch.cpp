// entry/launch.cpp - cuLaunchKernel and its other forms.
#include <memory>
#include <span>

#include "embedded/engine/waiting.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/launch_attributes.hpp"
#include "embedded/model/capture.hpp"
#include "embedded/model/function.hpp"
#include "embedded/model/kernel_work.hpp"

namespace weir::embedded::entry {

namespace {

// The kernel in a stream of the function's context. The image is kept until the operation is submitted; from then on its
// module waits for it. One that is unloaded at this very moment may not see it any more: then this call waits.
CUresult submit(model::stream& in, const model::function& of, const std::shared_ptr<const model::module_image>& image,
                const model::launch_shape& shape, const model::kernel_arguments& arguments) {
  const engine::point end = model::submit_kernel(in, of.kernel(), image, shape, arguments);
  if (!of.is_open()) [[unlikely]]
    engine::wait(end);
  return CUDA_SUCCESS;
}

CUresult launch(model::process& p, CUfunction function, const launch_attributes& how, CUstream stream,
                void* const* params, void* const* extra) {
  model::stream* in = nullptr;
  if (const CUresult status = find_stream_for_work(p, stream, in); status != CUDA_SUCCESS) return status;
  model::function* of = nullptr;
  if (const CUresult status = model::find_function(function, &in->owner().base(), of); status != CUDA_SUCCESS)
    return status;
  if (&of->owner() != &in->owner().base()) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<const model::module_image> image = of->image();
  if (!image) return CUDA_ERROR_INVALID_HANDLE;
  model::launch_shape shape = how.shape;
  if (const CUresult status = model::check_shape(*of, shape); status != CUDA_SUCCESS) return status;
  model::kernel_arguments arguments;
  const CUresult status = model::kernel_arguments::read(of->kernel(), params, extra, arguments);
  if (status != CUDA_SUCCESS) return status;
  if (class model::capture* const into = in->capture()) {
    const int priority = how.priority.value_or(in->priority());
    return into->add_kernel(
        *in, {std::make_shared<const model::kernel_work>(of->owner(), of->kernel(), image, shape, arguments, priority),
              function, nullptr, of->owner().handle(), how.told});
  }
  if (const CUresult done = submit(*in, *of, image, shape, arguments); done != CUDA_SUCCESS) return done;
  for (model::event* const each : {how.when_started, how.when_done}) {
    if (each == nullptr) continue;
    if (const CUresult recorded = model::record_event(*each, *in, 0); recorded != CUDA_SUCCESS) return recorded;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** params,
                        void** extra) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    launch_attributes how;
    how.shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {0, 0, 0}, shared, false};
    return launch(p, function, how, stream, params, extra);
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params, void** extra) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (config->numAttrs != 0 && config->attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
    launch_attributes how;
    how.shape = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                 {config->blockDimX, config->blockDimY, config->blockDimZ},
                 {0, 0, 0},
                 config->sharedMemBytes,
                 false};
    const CUresult status = read_attributes(p, std::span{config->attrs, config->numAttrs}, how);
    return status == CUDA_SUCCESS ? launch(p, function, how, config->hStream, params, extra) : status;
  });
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                   CUstream stream, void** params) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    launch_attributes how;
    how.shape = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {0, 0, 0}, shared, true};
    return launch(p, function, how, stream, params, nullptr);
  });
}

}  // namespace weir::embedded::entry
