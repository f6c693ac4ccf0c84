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

// Runs body(function, resources) for a function or a library's kernel. `owner_context` is the
// context in which a library's kernel is looked up. Null stands for the current context, which must
// then exist.
template <class Body>
CUresult with_block_resources(CUfunction handle, model::context* owner_context, Body&& body) {
  if (owner_context == nullptr) {
    if (const CUresult error = current_context(owner_context)) return error;
  }
  model::function* found = nullptr;
  if (const CUresult error = model::find_function(handle, owner_context, found)) return error;
  const std::shared_ptr<const model::module_image> image = found->image();
  return image ? body(*found, model::block_resources_of(*found)) : CUDA_ERROR_INVALID_HANDLE;
}

bool are_valid_flags(unsigned flags) {
  return (flags & ~static_cast<unsigned>(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) == 0;
}

unsigned blocks_of(const weir_extent& cluster) { return cluster.x * cluster.y * cluster.z; }

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

// Returns true if the grid consists of whole clusters of this size, and a cluster has at most
// `largest` blocks.
bool fits(const CUlaunchConfig& config, weir_extent cluster, unsigned largest) {
  return blocks_of(cluster) != 0 && blocks_of(cluster) <= largest &&
         config.gridDimX % cluster.x == 0 && config.gridDimY % cluster.y == 0 &&
         config.gridDimZ % cluster.z == 0;
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
  return guarded_outside_host_functions([&](model::process& p) {
    if (out == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* owner_context = nullptr;
    if (config->hStream != nullptr) {
      model::stream* s = nullptr;
      if (const CUresult error = find_stream_for_query(p, config->hStream, s)) return error;
      owner_context = &s->owner();
    }
    return with_block_resources(
        function, owner_context,
        [&](const model::function& found, const model::block_resources& resources) {
          const unsigned threads =
              blocks_of({config->blockDimX, config->blockDimY, config->blockDimZ});
          if (threads == 0) return CUDA_ERROR_INVALID_VALUE;
          return body(found,
                      model::resident_clustered_blocks(resources, threads, config->sharedMemBytes));
        });
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
  return guarded_outside_host_functions([&](model::process&) {
    if (blocks == nullptr || block <= 0 || !are_valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    return with_block_resources(
        function, nullptr, [&](const model::function&, const model::block_resources& resources) {
          *blocks = static_cast<int>(
              model::resident_blocks(resources, static_cast<unsigned>(block), shared));
          return CUDA_SUCCESS;
        });
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
  return guarded_outside_host_functions([&](model::process&) {
    if (grid == nullptr || block == nullptr || limit < 0 || !are_valid_flags(flags))
      return CUDA_ERROR_INVALID_VALUE;
    return with_block_resources(
        function, nullptr,
        [&](const model::function& found, const model::block_resources& resources) {
          const auto best =
              model::choose_block(resources, shared_of, shared, static_cast<unsigned>(limit));
          int multiprocessors = 0;
          (void)found.owner().owner().attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                                multiprocessors);
          *grid = static_cast<int>(best.blocks) * multiprocessors;
          *block = static_cast<int>(best.threads);
          return CUDA_SUCCESS;
        });
  });
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* shared, CUfunction function, int blocks,
                                                 int block) {
  return guarded_outside_host_functions([&](model::process&) {
    if (shared == nullptr || blocks <= 0 || block <= 0) return CUDA_ERROR_INVALID_VALUE;
    return with_block_resources(
        function, nullptr, [&](const model::function&, const model::block_resources& resources) {
          const bool found = model::find_dynamic_shared(resources, static_cast<unsigned>(blocks),
                                                        static_cast<unsigned>(block), *shared);
          return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        });
  });
}

CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction function,
                                            const CUlaunchConfig* config) {
  return with_launch(function, config, blocks,
                     [&](const model::function& found, unsigned resident) {
                       *blocks = static_cast<int>(resident == 0 ? 0 : largest_cluster(found));
                       return CUDA_SUCCESS;
                     });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                      const CUlaunchConfig* config) {
  return with_launch(
      function, config, clusters, [&](const model::function& found, unsigned resident) {
        const weir_extent required = found.cluster();
        const bool is_required = blocks_of(required) != 0;
        const std::optional<weir_extent> requested = cluster_attribute_of(*config);
        if (!requested && !is_required) {
          *clusters = 0;
          return CUDA_SUCCESS;
        }
        const weir_extent cluster = requested.value_or(required);
        const bool differs =
            cluster.x != required.x || cluster.y != required.y || cluster.z != required.z;
        if ((is_required && differs) || !fits(*config, cluster, largest_cluster(found)))
          return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        *clusters = static_cast<int>(model::resident_clusters(blocks_of(cluster), resident));
        return CUDA_SUCCESS;
      });
}

}  // namespace weir::embedded::entry
