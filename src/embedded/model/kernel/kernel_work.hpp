// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/kernel_work.hpp - a kernel launch, as stored in graphs and as a stream
// operation.
#pragma once

#include <memory>

#include "driver/abi.hpp"
#include "driver/abi/module_abi.h"
#include "embedded/engine/operation.hpp"
#include "embedded/model/kernel/kernel_arguments.hpp"
#include "embedded/model/kernel/launch_shape.hpp"

namespace weir::embedded::model {

class context;
class module_image;
class stream;

// A stored launch. It keeps the kernel's code loaded. Immutable.
class kernel_work {
 public:
  // Copies the arguments. The caller must already have checked the shape. Throws std::bad_alloc.
  kernel_work(const context& owner, const weir_kernel& kernel,
              std::shared_ptr<const module_image> image, const launch_shape& shape,
              const kernel_arguments& arguments, int priority = 0);

  // Returns a copy with another shape and priority. It shares the arguments, because a program that
  // received their addresses may still read them while a node's attributes change. Throws
  // std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const kernel_work> with(const launch_shape& shape,
                                                        int priority) const;

  // Returns the priority of the launch. It has no effect, but programs can query it, and updates of
  // executables compare it.
  [[nodiscard]] int priority() const noexcept { return priority_; }

  // Returns the context of the launched function.
  [[nodiscard]] const context* owner() const noexcept { return &owner_; }
  [[nodiscard]] const weir_kernel& kernel() const noexcept { return kernel_; }
  [[nodiscard]] const launch_shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const std::shared_ptr<const module_image>& image() const noexcept { return image_; }
  [[nodiscard]] const void** arguments() const noexcept { return arguments_->each(); }

  // Runs the kernel. Returns false if it made the device fail.
  bool run() const noexcept;

 private:
  const context& owner_;
  const weir_kernel& kernel_;
  std::shared_ptr<const module_image> image_;
  launch_shape shape_;
  int priority_;
  std::shared_ptr<const stored_arguments> arguments_;
};

// Submits a launch to a stream, which runs it even if the stream is part of a capture. Returns the
// point in the stream's timeline at which the launch is complete. The code must stay loaded until
// then; unloading a module waits for its context's work. Throws std::bad_alloc without submitting
// anything.
engine::point submit_kernel(stream& target_stream, const weir_kernel& kernel,
                            const std::shared_ptr<const module_image>& image,
                            const launch_shape& shape, const kernel_arguments& arguments);

// Checks whether the kernel of `work` can be launched in another shape. work.shape() has already
// been checked. Returns CUDA_ERROR_INVALID_CLUSTER_SIZE for a cluster that is too large, does not
// divide the grid, or differs from the compiled one. Returns
// CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE if the blocks of a cooperative launch cannot all be
// resident.
//
// The function's attributes may have changed since work.shape() was checked. This function
// therefore uses the largest values that the program could set.
[[nodiscard]] abi::CUresult check_kernel_node_shape(const kernel_work& work,
                                                    const launch_shape& shape) noexcept;

// Returns the shape of `work`, with `cooperative` from `attributes`. The cluster is also from
// `attributes`, unless one of the two kernels was compiled for a cluster size.
[[nodiscard]] launch_shape shape_with_attributes(const kernel_work& work,
                                                 const kernel_work& attributes) noexcept;

}  // namespace weir::embedded::model
