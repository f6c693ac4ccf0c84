// SPDX-License-Identifier: Apache-2.0
// support/shared_allocation.hpp - device memory that is exported as a file descriptor.
#pragma once

#include <weir/device/context.hpp>
#include <weir/device/device.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "driver/table.hpp"

namespace weir::test {

// An allocation and its own mapping, as another library would create them. Declare it before
// objects imported from it.
class shared_allocation {
 public:
  explicit shared_allocation(device gpu, std::size_t pieces = 1) : gpu_{gpu} {
    abi::CUmemAllocationProp wanted{};
    wanted.type = abi::CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.requestedHandleTypes = abi::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    wanted.location = {abi::CU_MEM_LOCATION_TYPE_DEVICE, gpu.ordinal()};
    const abi::CUmemAccessDesc access{wanted.location, abi::CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const context_scope current{gpu};
    must(driver().cuMemGetAllocationGranularity(&piece_, &wanted,
                                                abi::CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    bytes_ = pieces * piece_;
    must(driver().cuMemCreate(&memory_, bytes_, &wanted, 0));
    must(driver().cuMemAddressReserve(&address_, bytes_, 0, 0, 0));
    must(driver().cuMemMap(address_, bytes_, 0, memory_, 0));
    must(driver().cuMemSetAccess(address_, bytes_, &access, 1));
  }
  shared_allocation(const shared_allocation&) = delete;
  shared_allocation& operator=(const shared_allocation&) = delete;
  ~shared_allocation() {
    driver().cuMemUnmap(address_, bytes_);
    driver().cuMemAddressFree(address_, bytes_);
    driver().cuMemRelease(memory_);
  }

  // Returns a new file descriptor, which the caller owns.
  [[nodiscard]] int descriptor() const {
    int made = -1;
    must(driver().cuMemExportToShareableHandle(&made, memory_,
                                               abi::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return made;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t piece() const noexcept {
    return piece_;
  }  // offsets and sizes are multiples of this

  // Returns `count` elements starting at an offset, at the exporter's own addresses.
  template <class T>
  [[nodiscard]] std::span<T> at(std::size_t offset, std::size_t count) const noexcept {
    return {reinterpret_cast<T*>(static_cast<std::uintptr_t>(address_) + offset), count};
  }

 private:
  static const detail::driver_table& driver() { return detail::driver(); }
  static void must(abi::CUresult answer) {
    if (answer != abi::CUDA_SUCCESS) throw std::runtime_error{"no memory that can be shared"};
  }

  device gpu_;
  std::size_t piece_ = 0;
  std::size_t bytes_ = 0;
  abi::CUmemGenericAllocationHandle memory_ = 0;
  abi::CUdeviceptr address_ = 0;
};

// Returns true if the descriptor is open in this process.
inline bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

}  // namespace weir::test
