// model/kernel_work.hpp - a launch of a kernel: with all that it needs, as it is kept, and as an
// operation of a stream.
#pragma once

#include <memory>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/kernel/image/module_abi.h"
#include "embedded/model/kernel/kernel_arguments.hpp"
#include "embedded/model/kernel/launch_shape.hpp"

namespace weir::embedded::model {

class context;
class module_image;
class stream;

// A launch that is kept for as long as one likes. It keeps the kernel's code. Does not change.
class kernel_work {
 public:
  // Copies the arguments. The shape has been checked. Throws std::bad_alloc.
  kernel_work(const context& owner, const weir_kernel& kernel,
              std::shared_ptr<const module_image> image, const launch_shape& shape,
              const kernel_arguments& arguments, int priority = 0);

  // The same with another shape and priority. It shares the arguments: who was told where they are
  // may go on to look at them while a node's attributes change. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const kernel_work> with(const launch_shape& shape,
                                                        int priority) const;

  // A hint that nobody takes; it is told, and compared.
  [[nodiscard]] int priority() const noexcept { return priority_; }

  // The context of its function.
  [[nodiscard]] const context* owner() const noexcept { return &owner_; }
  [[nodiscard]] const weir_kernel& kernel() const noexcept { return kernel_; }
  [[nodiscard]] const launch_shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const std::shared_ptr<const module_image>& image() const noexcept { return image_; }
  [[nodiscard]] const void** arguments() const noexcept { return arguments_->each(); }

  // Runs it. False where it failed the device.
  bool run() const noexcept;

 private:
  const context& owner_;
  const weir_kernel& kernel_;
  std::shared_ptr<const module_image> image_;
  launch_shape shape_;
  int priority_;
  std::shared_ptr<const stored_arguments> arguments_;
};

// Submits a launch to a stream, whatever the capture state, and gives the point at which it is
// complete. The code has to stay until then: a module waits for the work of its context before it
// ends. Throws std::bad_alloc, and then nothing was submitted.
engine::point submit_kernel(stream& in, const weir_kernel& kernel,
                            const std::shared_ptr<const module_image>& image,
                            const launch_shape& shape, const kernel_arguments& arguments);

}  // namespace weir::embedded::model
