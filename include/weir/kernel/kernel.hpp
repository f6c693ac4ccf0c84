// SPDX-License-Identifier: Apache-2.0
// weir/kernel/kernel.hpp - kernels: functions that run on a device.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/device/device.hpp>
#include <weir/kernel/launch_config.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weir {

class module;

/// The place of a parameter in a kernel's parameter memory: offset and size in bytes.
struct kernel_parameter {
  unsigned offset = 0;
  unsigned size = 0;
  friend constexpr bool operator==(const kernel_parameter&,
                                   const kernel_parameter&) noexcept = default;
};

/// The properties of a compiled kernel, and its current settings. Sizes are in bytes.
struct kernel_attributes {
  int max_threads_per_block = 0;  ///< the limit that the kernel's use of registers allows
  int registers = 0;              ///< per thread
  int shared_bytes = 0;           ///< static shared memory per block
  int constant_bytes = 0;         ///< constant memory of the kernel's module
  int local_bytes = 0;            ///< per thread, for values that do not fit into registers
  int ptx_version = 0;            ///< major * 10 + minor
  int binary_version = 0;         ///< compute capability of the binary code: major * 10 + minor
  /// The limit of dynamic shared memory per block; see kernel::set_max_dynamic_shared().
  int max_dynamic_shared_bytes = 0;
  int shared_carveout = -1;               ///< percent; see kernel::set_shared_carveout()
  kernel_extent cluster{0, 0, 0};         ///< __cluster_dims__; 0 if the kernel has none
  bool cluster_size_must_be_set = false;  ///< true if each launch has to pass a cluster size
  /// See kernel::allow_non_portable_clusters().
  bool non_portable_cluster_allowed = false;
};

/// The preferred use of a multiprocessor's fast memory. The values are those of the driver
/// (CUfunc_cache).
enum class cache_preference : unsigned { none = 0, shared = 1, l1 = 2, equal = 3 };

/// The block size with the highest occupancy, and the smallest number of blocks of that size that
/// fills the device.
struct block_suggestion {
  unsigned threads = 0;  ///< per block
  unsigned blocks = 0;
};

namespace detail {

/// The value of kernel_info::parameter_count if the driver does not report parameters (before CUDA
/// 12.4).
inline constexpr unsigned unknown_parameter_count = ~0u;

/// The data that a launch reads: the function and its parameters.
struct kernel_info {
  CUfunc_st* function;
  unsigned parameter_count;            ///< or unknown_parameter_count
  const kernel_parameter* parameters;  ///< parameter_count elements, if that is known
};

/// The function cudaGetFuncBySymbol of the CUDA runtime. The symbol is weak: its address is null if
/// neither the shared nor the static CUDA runtime is linked.
extern "C" int weir_cuda_get_func_by_symbol(CUfunc_st** function,
                                            const void* symbol) __asm__("cudaGetFuncBySymbol")
    __attribute__((weak));

/// The type of cudaGetFuncBySymbol. Returns a cudaError_t, which is 0 on success.
using function_by_symbol = int (*)(CUfunc_st** function, const void* symbol);

}  // namespace detail

/// A kernel of a module. Cheap to copy; each copy keeps the module loaded. launch() (launch.hpp)
/// runs it.
///
/// A kernel belongs to the context of its module, and so must the streams in which it is launched.
/// A default-constructed or moved-from kernel is empty and throws `closed` when used.
///
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Thread safety: all members may be called from any thread. The set functions apply to all copies.
class WEIR_EXPORT kernel {
 public:
  /// Creates an empty kernel.
  kernel() noexcept = default;
  kernel(const kernel&) noexcept = default;
  kernel(kernel&& other) noexcept
      : info_{std::exchange(other.info_, nullptr)}, owner_{std::move(other.owner_)} {}
  kernel& operator=(const kernel&) noexcept = default;
  kernel& operator=(kernel&& other) noexcept {
    info_ = std::exchange(other.info_, nullptr);
    owner_ = std::move(other.owner_);
    return *this;
  }
  ~kernel() = default;

  /// Creates a kernel from a function of a module that the caller loaded and keeps: a CUfunction or
  /// a cudaFunction_t. The kernel belongs to the context that is current at the call, or to the
  /// primary context of device 0 if none is current.
  ///
  /// Driver: cuFuncGetParamInfo.
  [[nodiscard]] static kernel from_function(CUfunc_st* function,
                                            call_site at = call_site::current());

  /// Creates a kernel from a __global__ function that nvcc compiled into this program:
  /// kernel::from_function(scale<float>). The CUDA runtime loads the function for the runtime's
  /// current device (cudaGetDevice), and keeps it loaded.
  ///
  /// Throws: `not_supported` in a program without the CUDA runtime, and on the embedded driver,
  /// whose kernels are compiled from source.
  /// Driver: cudaGetFuncBySymbol (CUDA runtime).
  template <class... Parameters>
  [[nodiscard]] static kernel from_function(void (*symbol)(Parameters...),
                                            call_site at = call_site::current()) {
    return from_symbol(reinterpret_cast<const void*>(symbol), &detail::weir_cuda_get_func_by_symbol,
                       at);
  }

  /// Returns the linker's name of the kernel: "_Z4fillPfi", or "fill" if it is declared extern "C".
  ///
  /// Driver: cuFuncGetName.
  [[nodiscard]] std::string name(call_site at = call_site::current()) const;

  /// Returns the properties of the compiled kernel.
  ///
  /// Driver: cuFuncGetAttribute, once per attribute.
  [[nodiscard]] kernel_attributes attributes(call_site at = call_site::current()) const;

  /// Returns the parameters in the order of their declaration. Makes no driver call: they were read
  /// when the kernel was looked up.
  ///
  /// Throws: `call_requires_newer_driver` on drivers before CUDA 12.4, which do not report
  /// parameters. Arguments of launches are then not checked.
  [[nodiscard]] std::vector<kernel_parameter> parameters(call_site at = call_site::current()) const;

  /// Sets how much dynamic shared memory launches may use per block, in bytes. Needed only if a
  /// block uses more than 48 KiB of static and dynamic shared memory together.
  ///
  /// Driver: cuFuncSetAttribute.
  void set_max_dynamic_shared(unsigned bytes, call_site at = call_site::current()) const;
  /// Sets the preferred share of shared memory in a multiprocessor's fast memory, in percent; -1
  /// leaves it to the driver. A hint.
  ///
  /// Driver: cuFuncSetAttribute.
  void set_shared_carveout(int percent, call_site at = call_site::current()) const;
  /// Sets the preferred use of a multiprocessor's fast memory. Newer devices ignore this setting;
  /// use set_shared_carveout() there.
  ///
  /// Driver: cuFuncSetCacheConfig.
  void set_cache(cache_preference preference, call_site at = call_site::current()) const;
  /// Allows or forbids launches with clusters of more than 8 blocks. Every device with clusters
  /// supports clusters of up to 8 blocks; larger ones work on some devices only.
  ///
  /// Driver: cuFuncSetAttribute.
  void allow_non_portable_clusters(bool allowed, call_site at = call_site::current()) const;

  /// Returns how many blocks of `threads` threads a multiprocessor can run at a time.
  /// `shared_bytes` is the dynamic shared memory per block.
  ///
  /// Driver: cuOccupancyMaxActiveBlocksPerMultiprocessor.
  [[nodiscard]] unsigned max_active_blocks(unsigned threads, unsigned shared_bytes = 0,
                                           call_site at = call_site::current()) const;
  /// Returns the largest number of blocks that a cooperative launch can have, since the device must
  /// run all its blocks concurrently. `threads` is the number of threads per block, `shared_bytes`
  /// the dynamic shared memory per block.
  ///
  /// Driver: cuOccupancyMaxActiveBlocksPerMultiprocessor.
  [[nodiscard]] unsigned max_cooperative_blocks(unsigned threads, unsigned shared_bytes = 0,
                                                call_site at = call_site::current()) const;
  /// Returns the block size with the highest occupancy. `shared_bytes` is the dynamic shared memory
  /// per block; `max_threads` limits the block size (0: the device's limit).
  ///
  /// Driver: cuOccupancyMaxPotentialBlockSize.
  [[nodiscard]] block_suggestion suggest_block(unsigned shared_bytes = 0, unsigned max_threads = 0,
                                               call_site at = call_site::current()) const;
  /// Returns how much dynamic shared memory, in bytes, each block can have if `blocks` blocks of
  /// `threads` threads run on a multiprocessor.
  ///
  /// Driver: cuOccupancyAvailableDynamicSMemPerBlock.
  [[nodiscard]] std::size_t available_dynamic_shared(unsigned blocks, unsigned threads,
                                                     call_site at = call_site::current()) const;
  /// Returns the largest number of blocks that a cluster can have in a launch with `config`.
  ///
  /// Driver: cuOccupancyMaxPotentialClusterSize.
  [[nodiscard]] unsigned max_cluster_size(const launch_config& config,
                                          call_site at = call_site::current()) const;
  /// Returns how many clusters of a launch with `config` the device can run at a time.
  ///
  /// Driver: cuOccupancyMaxActiveClusters.
  [[nodiscard]] unsigned max_active_clusters(const launch_config& config,
                                             call_site at = call_site::current()) const;

  /// Returns the launch configuration for one thread per element, as launch(s, grid(n), ...) uses
  /// it.
  ///
  /// Throws: `invalid_value` if that needs more blocks than a grid can have.
  [[nodiscard]] launch_config config_for(const element_count& elements,
                                         call_site at = call_site::current()) const;

  /// Returns the device of the kernel's context.
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  /// Returns the driver's handle (CUfunction). No driver call.
  [[nodiscard]] CUfunc_st* get() const noexcept {
    return info_ == nullptr ? detail::closed_handle<CUfunc_st>() : info_->function;
  }
  /// Returns true unless the kernel is empty.
  explicit operator bool() const noexcept { return info_ != nullptr; }
  /// Returns true if both have the same driver handle. All empty kernels are equal.
  friend bool operator==(const kernel& a, const kernel& b) noexcept { return a.get() == b.get(); }

  /// Returns the data for a launch; null for an empty kernel. Used by weir's operations.
  [[nodiscard]] const detail::kernel_info* info() const noexcept { return info_; }
  /// Returns the reference that keeps info() valid and, if weir owns the module, keeps the module
  /// loaded. Used by weir's operations.
  [[nodiscard]] const detail::keep_alive_ref& owner() const noexcept { return owner_; }

 private:
  friend class module;
  kernel(const detail::kernel_info& info, detail::keep_alive_ref owner) noexcept
      : info_{&info}, owner_{std::move(owner)} {}
  [[nodiscard]] static kernel from_symbol(const void* symbol, detail::function_by_symbol find,
                                          call_site at);

  const detail::kernel_info* info_ = nullptr;
  detail::keep_alive_ref owner_;  ///< keeps info_, and the module if weir owns it
};

}  // namespace weir
