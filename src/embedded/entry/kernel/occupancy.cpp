// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/occupancy.cpp - cuOccupancy*: how many blocks fit on a multiprocessor.
#include "embedded/model/kernel/occupancy.hpp"

#include <memory>
#include <optional>
#include <span>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/kernel/function.hpp"
#include "embedded/model/kernel/launch_shape.hpp"

namespace weir::embedded::entry {

namespace {

// A function and the resources of its blocks. Keeps the function's image, so that it is not
// unloaded during the call.
struct sized_function {
  const model::function* function = nullptr;
  std::shared_ptr<const model::module_image> image;
  model::block_resources resources;
};

// Finds a function, or a library's kernel. `owner_context` is the context in which a library's
// kernel is looked up. Null stands for the current context, which must then exist.
CUresult find_sized_function(CUfunction handle, model::context* owner_context,
                             sized_function& out) {
  if (owner_context == nullptr) {
    if (const CUresult error = current_context(owner_context)) return error;
  }
  model::function* found = nullptr;
  if (const CUresult error = model::find_function(handle, owner_context, found)) return error;
  const std::shared_ptr<const model::module_image> image = found->image();
  if (!image) return CUDA_ERROR_INVALID_HANDLE;
  out = {found, image, model::block_resources_of(*found)};
  return CUDA_SUCCESS;
}

bool are_valid_flags(unsigned flags) {
  return (flags & ~static_cast<unsigned>(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) == 0;
}

unsigned volume_of(const weir_extent& size) { return size.x * size.y * size.z; }

// Returns the cluster size attribute of a launch, if there is one.
std::optional<weir_extent> cluster_attribute_of(const CUlaunchConfig& config) {
  for (const CUlaunchAttribute& attribute :
       std::span{config.attrs, config.attrs != nullptr ? config.numAttrs : 0}) {
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    return weir_extent{attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                       attribute.value.clusterDim.z};
  }
  return std::nullopt;
}

unsigned largest_cluster(const model::function& kernel_function) {
  return kernel_function.value_of(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) != 0
             ? model::limits::non_portable_cluster
             : model::limits::portable_cluster;
}

// Runs body(function, blocks per multiprocessor) for the launch that `config` describes. `out` is
// only checked for null.
template <class Body>
CUresult with_launch(CUfunction function, const CUlaunchConfig* config, const int* out,
                     Body&& body) {
  return guarded_outside_host_functions([&] {
    if (out == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* owner_context = nullptr;
    if (config->hStream != nullptr) {
      model::stream* s = nullptr;
      if (const CUresult error = find_stream_for_query(config->hStream, s)) return error;
      owner_context = &s->owner();
    }
    sized_function found;
    if (const CUresult error = find_sized_function(function, owner_context, found)) return error;
    const unsigned threads = volume_of({config->blockDimX, config->blockDimY, config->blockDimZ});
    if (threads == 0) return CUDA_ERROR_INVALID_VALUE;
    return body(*found.function,
                model::resident_clustered_blocks(found.resources, threads, config->sharedMemBytes));
  });
}

}  // namespace

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block,
                                                     size_t shared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block, shared,
                                                              CU_OCCUPANCY_DEFAULT);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                              int block, size_t shared,
                                                              unsigned flags) {
  return guarded_outside_host_functions([&] {
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    if (blocks == nullptr || block <= 0 || !are_valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    sized_function found;
    if (const CUresult error = find_sized_function(function, context, found)) return error;
    *blocks = static_cast<int>(
        model::resident_blocks(found.resources, static_cast<unsigned>(block), shared));
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize shared_of, size_t shared, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, shared, limit,
                                                   CU_OCCUPANCY_DEFAULT);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize shared_of, size_t shared,
                                                   int limit, unsigned flags) {
  return guarded_outside_host_functions([&] {
    if (grid == nullptr || block == nullptr || limit < 0 || !are_valid_flags(flags))
      return CUDA_ERROR_INVALID_VALUE;
    sized_function found;
    if (const CUresult error = find_sized_function(function, nullptr, found)) return error;
    const auto best =
        model::choose_block(found.resources, shared_of, shared, static_cast<unsigned>(limit));
    const model::device& device = found.function->owner().owner();
    const int multiprocessors = device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    *grid = static_cast<int>(best.blocks) * multiprocessors;
    *block = static_cast<int>(best.threads);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* shared, CUfunction function, int blocks,
                                                 int block) {
  return guarded_outside_host_functions([&] {
    if (shared == nullptr || blocks <= 0 || block <= 0) return CUDA_ERROR_INVALID_VALUE;
    sized_function found;
    if (const CUresult error = find_sized_function(function, nullptr, found)) return error;
    const bool fits = model::find_dynamic_shared(found.resources, static_cast<unsigned>(blocks),
                                                 static_cast<unsigned>(block), *shared);
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction function,
                                            const CUlaunchConfig* config) {
  return with_launch(function, config, blocks,
                     [&](const model::function& found, unsigned resident) {
                       const unsigned maximum = largest_cluster(found);
                       const auto requested = cluster_attribute_of(*config);
                       if (requested && volume_of(*requested) - 1 >= maximum)  // 0 wraps around
                         return CUDA_ERROR_INVALID_CLUSTER_SIZE;
                       *blocks = static_cast<int>(resident == 0 ? 0 : maximum);
                       return CUDA_SUCCESS;
                     });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                      const CUlaunchConfig* config) {
  return with_launch(
      function, config, clusters, [&](const model::function& found, unsigned resident) {
        const weir_extent required = found.cluster();
        const bool is_required = volume_of(required) != 0;
        const std::optional<weir_extent> requested = cluster_attribute_of(*config);
        if (!requested && !is_required) return store(clusters, 0);
        const model::launch_shape shape{
            .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
            .cluster = requested.value_or(required)};
        if (!model::has_valid_cluster(shape, is_required ? required : weir_extent{0, 0, 0},
                                      largest_cluster(found)))
          return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        *clusters = static_cast<int>(model::resident_clusters(volume_of(shape.cluster), resident));
        return CUDA_SUCCESS;
      });
}

}  // namespace weir::embedded::entry
