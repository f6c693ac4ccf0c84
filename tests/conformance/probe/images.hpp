// SPDX-License-Identifier: Apache-2.0
// probe/images.hpp - modules for drivers that do not accept PTX.
#pragma once

namespace weir::conformance {

// Sets the folder of --images; child processes inherit it. Without it there are no images.
void set_images(const char* folder);

// Returns a module for the driver: the file NAME.image of that folder, or without a folder the PTX
// text. Aborts the case if the file cannot be read. Valid until the process ends.
const void* module_code(const char* name, const char* ptx);

}  // namespace weir::conformance
