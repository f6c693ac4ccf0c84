// kernel/services.cpp - what the driver offers to kernels that run.
#include "embedded/kernel/services.hpp"

namespace weir::embedded::kernel {

const weir_services& services() noexcept {
  static constexpr weir_services none{};
  return none;
}

}  // namespace weir::embedded::kernel
