// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/kernel_work.cpp - packs launches into operations, and runs them.
#include "embedded/model/kernel/kernel_work.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "embedded/engine/value_waiters.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/kernel/run.hpp"
#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/kernel/occupancy.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

bool run_launch(const kernel::launch& launch_desc) noexcept {
  const CUresult status = kernel::run(launch_desc);
  // The kernel may have written a word for whose value a stream waits.
  engine::notify_any_memory_written();
  if (status == CUDA_SUCCESS) [[likely]]
    return true;
  engine::fail_device(status);
  return false;
}

// A launch that fits into an operation's 48 bytes: no cluster, not cooperative, at most 8 arguments
// of 24 bytes in total. The members for grid and block sizes are just wide enough for the device's
// limits.
struct inline_kernel {
  static constexpr std::size_t max_inline_bytes = 24;
  static constexpr unsigned max_parameters = 8;

  const weir_kernel* kernel;
  std::uint32_t grid_x;
  std::uint16_t grid_y;
  std::uint16_t grid_z;
  std::uint32_t block;  // x and y in 11 bits each, z above
  std::uint32_t shared;
  alignas(8) std::array<std::byte, max_inline_bytes> values;

  static bool fits(const weir_kernel& kernel_description, const launch_shape& shape) noexcept {
    return kernel_description.parameter_count <= max_parameters &&
           kernel_arguments::bytes(kernel_description) <= max_inline_bytes &&
           kernel_arguments::alignment(kernel_description) <= 8 && !shape.clustered() &&
           !shape.cooperative;
  }

  [[nodiscard]] bool run() const noexcept {
    std::array<const void*, max_parameters> pointers;
    kernel_arguments::point_into(*kernel, values.data(), pointers.data());
    return run_launch({.kernel = kernel,
                       .grid = {grid_x, grid_y, grid_z},
                       .block = {block & 0x7ff, block >> 11 & 0x7ff, block >> 22},
                       .shared = shared,
                       .arguments = pointers.data()});
  }
};
static_assert(sizeof(inline_kernel) == engine::operation::payload_size);

// Any other launch. It also runs after a device failure, to free the work, but then runs no kernel.
struct heap_kernel {
  kernel_work* work;

  [[nodiscard]] bool run() const noexcept {
    const std::unique_ptr<kernel_work> box{work};
    return engine::device_failure() != CUDA_SUCCESS || box->run();
  }
};

}  // namespace

kernel_work::kernel_work(const context& owner, const weir_kernel& kernel,
                         std::shared_ptr<const module_image> image, const launch_shape& shape,
                         const kernel_arguments& arguments, int priority)
    : owner_{owner},
      kernel_{kernel},
      image_{std::move(image)},
      shape_{shape},
      priority_{priority},
      arguments_{std::make_shared<const stored_arguments>(kernel, arguments)} {}

std::shared_ptr<const kernel_work> kernel_work::with(const launch_shape& shape,
                                                     int priority) const {
  auto copy = std::make_shared<kernel_work>(*this);
  copy->shape_ = shape;
  copy->priority_ = priority;
  return copy;
}

bool kernel_work::run() const noexcept {
  return run_launch({.kernel = &kernel_,
                     .grid = shape_.grid,
                     .block = shape_.block,
                     .cluster = shape_.cluster,
                     .shared = shape_.shared,
                     .cooperative = shape_.cooperative,
                     .arguments = arguments()});
}

// Submits every kernel as long work, because any kernel may take long. The host function thread
// leaves such operations to the workers.
engine::point submit_kernel(stream& target_stream, const weir_kernel& kernel,
                            const std::shared_ptr<const module_image>& image,
                            const launch_shape& shape, const kernel_arguments& arguments) {
  if (inline_kernel::fits(kernel, shape)) [[likely]] {
    inline_kernel small{.kernel = &kernel,
                        .grid_x = shape.grid.x,
                        .grid_y = static_cast<std::uint16_t>(shape.grid.y),
                        .grid_z = static_cast<std::uint16_t>(shape.grid.z),
                        .block = shape.block.x | shape.block.y << 11 | shape.block.z << 22,
                        .shared = shape.shared,
                        .values = {}};
    arguments.copy_to(kernel, small.values.data());
    return target_stream.submit(engine::make_operation(small, engine::operation_kind::long_work));
  }
  auto box = std::make_unique<kernel_work>(target_stream.owner(), kernel, image, shape, arguments);
  const engine::point end = target_stream.submit(engine::make_unconditional_operation(
      heap_kernel{box.get()}, engine::operation_kind::long_work));
  (void)box.release();
  return end;
}

namespace {

bool has_compiled_cluster(const weir_kernel& kernel) noexcept { return kernel.cluster.x != 0; }

// Returns the resources of the kernel's blocks, with the largest values of function attributes that
// a program can set.
block_resources largest_resources(const weir_kernel& kernel) noexcept {
  constexpr std::size_t shared = limits::shared_per_block_opt_in;
  return {.max_threads = kernel.max_threads,
          .static_shared = kernel.static_shared,
          .max_dynamic_shared = shared - std::min<std::size_t>(kernel.static_shared, shared),
          .shared_memory = limits::shared_per_multiprocessor};
}

}  // namespace

CUresult check_kernel_node_shape(const kernel_work& work, const launch_shape& shape) noexcept {
  if (!has_valid_cluster(shape, work.kernel().cluster, limits::non_portable_cluster))
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const bool fits = !shape.cooperative ||
                    can_be_resident(shape, largest_resources(work.kernel()), work.owner()->owner());
  return fits ? CUDA_SUCCESS : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

launch_shape shape_with_attributes(const kernel_work& work,
                                   const kernel_work& attributes) noexcept {
  launch_shape shape = work.shape();
  shape.cooperative = attributes.shape().cooperative;
  if (!has_compiled_cluster(work.kernel()) && !has_compiled_cluster(attributes.kernel()))
    shape.cluster = attributes.shape().cluster;
  return shape;
}

}  // namespace weir::embedded::model
