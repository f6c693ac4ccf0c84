// model/kernel_work.cpp - packing launches, and running them.
#include "embedded/model/kernel/kernel_work.hpp"

#include <array>
#include <cstdint>
#include <utility>

#include "embedded/engine/notify_written.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/kernel/run.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

bool run_launch(const kernel::launch& what) noexcept {
  const CUresult status = kernel::run(what);
  engine::notify_all_written();
  if (status == CUDA_SUCCESS) [[likely]]
    return true;
  engine::fail_device(status);
  return false;
}

kernel::launch as_launch(const weir_kernel& kernel, const launch_shape& shape,
                         const void* const* arguments) noexcept {
  return {&kernel,      shape.grid,        shape.block, shape.cluster,
          shape.shared, shape.cooperative, arguments};
}

// A launch in 48 bytes: of a plain kind, with arguments of 24 bytes. Sizes of blocks and grids have
// the widths of their limits.
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

  static bool fits(const weir_kernel& of, const launch_shape& shape) noexcept {
    return of.parameter_count <= max_parameters &&
           kernel_arguments::bytes(of) <= max_inline_bytes &&
           kernel_arguments::alignment(of) <= 8 && !shape.clustered() && !shape.cooperative;
  }

  [[nodiscard]] bool run() const noexcept {
    std::array<const void*, max_parameters> pointers;
    kernel_arguments::point_into(*kernel, values.data(), pointers.data());
    kernel::launch what;
    what.kernel = kernel;
    what.grid = {grid_x, grid_y, grid_z};
    what.block = {block & 0x7ff, block >> 11 & 0x7ff, block >> 22};
    what.shared = shared;
    what.arguments = pointers.data();
    return run_launch(what);
  }
};
static_assert(sizeof(inline_kernel) == engine::operation::payload_size);

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
  auto other = std::make_shared<kernel_work>(*this);
  other->shape_ = shape;
  other->priority_ = priority;
  return other;
}

bool kernel_work::run() const noexcept {
  return run_launch(as_launch(kernel_, shape_, arguments()));
}

// A kernel may take long, however short it is mostly; the thread of the host functions leaves it to
// others.
engine::point submit_kernel(stream& in, const weir_kernel& kernel,
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
    return in.submit(engine::make_operation(small, engine::operation_kind::long_work));
  }
  auto box = std::make_unique<kernel_work>(in.owner(), kernel, image, shape, arguments);
  const engine::point end = in.submit(
      engine::make_operation(heap_kernel{box.get()}, engine::operation_kind::long_work, true));
  (void)box.release();
  return end;
}

}  // namespace weir::embedded::model
