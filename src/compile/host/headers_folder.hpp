// SPDX-License-Identifier: Apache-2.0
// compile/host/headers_folder.hpp - the device's headers as files, which compilers want.
#pragma once

#include <filesystem>

namespace weir::compile {

// A folder of this process with all of them, written at the first use and removed at the process's
// exit. A process that is forked gets its own. Any thread. Throws what private_folder throws.
[[nodiscard]] std::filesystem::path headers_folder();

}  // namespace weir::compile
