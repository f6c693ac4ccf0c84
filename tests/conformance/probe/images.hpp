// probe/images.hpp - modules for drivers that take no PTX.
#pragma once

namespace weir::conformance {

// The folder of --images, handed down to child processes. Without it there are none.
void set_images(const char* folder);

// A module for the driver: the file NAME.image of that folder, or where there is no folder the
// text, which is PTX. Aborts the case where the file cannot be read. Valid until the process ends.
const void* module_code(const char* name, const char* ptx);

}  // namespace weir::conformance
