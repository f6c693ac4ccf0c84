// weir/kernel/kernel.hpp - functions that run on a device.
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

// Where a parameter lies in a kernel's parameter memory, and its size, both in bytes.
struct kernel_parameter {
  unsigned offset = 0;
  unsigned size = 0;
  friend constexpr bool operator==(const kernel_parameter&,
                                   const kernel_parameter&) noexcept = default;
};

// What the device's compiler made of a kernel, and what was set since. Sizes are bytes.
struct kernel_attributes {
  int max_threads_per_block = 0;  // with the registers that it needs
  int registers = 0;              // of a thread
  int shared_bytes = 0;           // static, of a block
  int constant_bytes = 0;         // of its module
  int local_bytes = 0;            // of a thread: what does not fit into registers
  int ptx_version = 0;            // major * 10 + minor
  int binary_version = 0;         // the same: the compute capability that it was compiled for
  int max_dynamic_shared_bytes = 0;
  int shared_carveout = -1;        // percent; -1 is the driver's choice
  kernel_extent cluster{0, 0, 0};  // __cluster_dims__; 0 if it has none
  bool cluster_size_must_be_set = false;
  bool non_portable_cluster_allowed = false;
};

// What the fast memory of a multiprocessor is for. The numbers are the driver's.
enum class cache_preference : unsigned { none = 0, shared = 1, l1 = 2, equal = 3 };

// The block size that gives the highest occupancy, and the fewest blocks that fill the device with
// it.
struct block_suggestion {
  unsigned threads = 0;
  unsigned blocks = 0;
};

namespace detail {

// The parameter count where the driver does not tell.
inline constexpr unsigned unknown_parameter_count = ~0u;

// What a launch looks at.
struct kernel_info {
  CUfunc_st* function;
  unsigned parameter_count;
  const kernel_parameter* parameters;
};

// cudaGetFuncBySymbol, if the program is linked with the CUDA runtime, shared or static; else null.
extern "C" int weir_cuda_get_func_by_symbol(CUfunc_st** function,
                                            const void* symbol) __asm__("cudaGetFuncBySymbol")
    __attribute__((weak));

using function_by_symbol = int (*)(CUfunc_st** function, const void* symbol);

}  // namespace detail

// A kernel: a cheap copy keeps the module alive that it is of. launch() (launch.hpp) runs it.
// It belongs to one context, that of its module; streams that it is launched in have to be of that,
// too. A default-made and a moved-from one is none, and answers `closed` when used. Thread safety:
// any operation from any thread; what is set, is set for all copies. In a host function: refused
// (not_permitted). In a capture: allowed.
class WEIR_EXPORT kernel {
 public:
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

  // One of a module that somebody else loaded and keeps: a CUfunction, or a cudaFunction_t of the
  // CUDA runtime. Its context is the calling thread's current one; without one the primary context
  // of device 0. cuFuncGetParamInfo.
  [[nodiscard]] static kernel from(CUfunc_st* function, call_site at = call_site::current());

  // One that nvcc compiled into this program, by its name in the source:
  // kernel::from(scale<float>). The CUDA runtime loads it, for the device that is current there,
  // and keeps it. Refused (not_supported) in a program without the CUDA runtime, and while weir
  // uses the embedded driver, whose kernels come from source. cudaGetFuncBySymbol.
  template <class... Parameters>
  [[nodiscard]] static kernel from(void (*symbol)(Parameters...),
                                   call_site at = call_site::current()) {
    return from_symbol(reinterpret_cast<const void*>(symbol), &detail::weir_cuda_get_func_by_symbol,
                       at);
  }

  // The name that the linker knows it by: "_Z4fillPfi", or "fill" if it is declared extern "C".
  // cuFuncGetName.
  [[nodiscard]] std::string name(call_site at = call_site::current()) const;

  // cuFuncGetAttribute, once an attribute.
  [[nodiscard]] kernel_attributes attributes(call_site at = call_site::current()) const;

  // In the order of the declaration; known since the kernel was looked up. Drivers before CUDA 12.4
  // do not tell (call_requires_newer_driver), and arguments of launches are then not checked. No
  // driver call.
  [[nodiscard]] std::vector<kernel_parameter> parameters(call_site at = call_site::current()) const;

  // How much dynamic shared memory launches may ask for. Up to 48 KiB, with the static one, need
  // not be set. cuFuncSetAttribute.
  void set_max_dynamic_shared(unsigned bytes, call_site at = call_site::current()) const;
  // How much of a multiprocessor's fast memory is to be shared memory, in percent; -1 leaves it to
  // the driver. A hint. cuFuncSetAttribute.
  void set_shared_carveout(int percent, call_site at = call_site::current()) const;
  // The same in coarser words, of which newer devices take no notice. cuFuncSetCacheConfig.
  void set_cache(cache_preference preference, call_site at = call_site::current()) const;
  // May clusters have more blocks than every device of its kind can run (8)? cuFuncSetAttribute.
  void allow_non_portable_clusters(bool allowed, call_site at = call_site::current()) const;

  // How many blocks of so many threads a multiprocessor runs at a time.
  // cuOccupancyMaxActiveBlocksPerMultiprocessor.
  [[nodiscard]] unsigned max_active_blocks(unsigned threads, unsigned shared_bytes = 0,
                                           call_site at = call_site::current()) const;
  // The most blocks of a cooperative launch: the same for the whole device.
  [[nodiscard]] unsigned max_cooperative_blocks(unsigned threads, unsigned shared_bytes = 0,
                                                call_site at = call_site::current()) const;
  // With so much dynamic shared memory a block, and at most so many threads (0: what the device can
  // do). cuOccupancyMaxPotentialBlockSize.
  [[nodiscard]] block_suggestion suggest_block(unsigned shared_bytes = 0, unsigned max_threads = 0,
                                               call_site at = call_site::current()) const;
  // The dynamic shared memory that each of so many blocks a multiprocessor can have, in bytes.
  // cuOccupancyAvailableDynamicSMemPerBlock.
  [[nodiscard]] std::size_t available_dynamic_shared(unsigned blocks, unsigned threads,
                                                     call_site at = call_site::current()) const;
  // The most blocks that a cluster of such a launch can have, and how many clusters the device runs
  // at a time. cuOccupancyMaxPotentialClusterSize, cuOccupancyMaxActiveClusters.
  [[nodiscard]] unsigned max_cluster_size(const launch_config& config,
                                          call_site at = call_site::current()) const;
  [[nodiscard]] unsigned max_active_clusters(const launch_config& config,
                                             call_site at = call_site::current()) const;

  // The launch that grid(n) stands for. Refused (invalid_value): more blocks than a grid can have.
  [[nodiscard]] launch_config config_for(const element_count& elements,
                                         call_site at = call_site::current()) const;

  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  [[nodiscard]] CUfunc_st* get() const noexcept {
    return info_ == nullptr ? detail::closed_handle<CUfunc_st>() : info_->function;
  }
  explicit operator bool() const noexcept { return info_ != nullptr; }
  friend bool operator==(const kernel& a, const kernel& b) noexcept { return a.get() == b.get(); }

  // For weir's operations.
  [[nodiscard]] const detail::kernel_info* info() const noexcept { return info_; }
  [[nodiscard]] const detail::keep_alive_ref& owner() const noexcept { return owner_; }

 private:
  friend class module;
  kernel(const detail::kernel_info& info, detail::keep_alive_ref owner) noexcept
      : info_{&info}, owner_{std::move(owner)} {}
  [[nodiscard]] static kernel from_symbol(const void* symbol, detail::function_by_symbol find,
                                          call_site at);

  const detail::kernel_info* info_ = nullptr;
  detail::keep_alive_ref owner_;  // the module, or what is known of a function of somebody else's
};

}  // namespace weir
