// SPDX-License-Identifier: Apache-2.0
// embedded/model/core/visible_devices.hpp - the devices that CUDA_VISIBLE_DEVICES lists.
#pragma once

#include <string_view>
#include <vector>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// Returns the UUID of the device with a number. It is equal in every process and on every machine.
[[nodiscard]] abi::CUuuid uuid_of_device(int number) noexcept;

// Returns the numbers of the devices that a value of CUDA_VISIBLE_DEVICES lists, out of `count`
// devices. Their order is that of the process's ordinals. An entry of the list is a number, or
// "GPU-" and the first digits of one device's UUID. As with a GPU's driver, the first invalid entry
// ends the list, and a list that names a device twice is empty. Throws std::bad_alloc.
[[nodiscard]] std::vector<int> visible_devices(std::string_view list, int count);

}  // namespace weir::embedded::model
