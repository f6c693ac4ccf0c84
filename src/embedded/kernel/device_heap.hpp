// SPDX-License-Identifier: Apache-2.0
// kernel/device_heap.hpp - malloc() and free() in kernels.
#pragma once

#include <cstddef>

namespace weir::embedded::kernel {

// Memory of the device's heap, which is one for the process; null where it is used up
// (limit_device_heap). Memory of one launch may be freed by a later one.
void* allocate_on_device(unsigned long long bytes);
void free_on_device(void* memory);

// How many bytes may be in use at a time: CU_LIMIT_MALLOC_HEAP_SIZE, as it was set last in any
// context.
void limit_device_heap(std::size_t bytes) noexcept;

}  // namespace weir::embedded::kernel
