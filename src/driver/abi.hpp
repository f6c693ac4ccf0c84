// SPDX-License-Identifier: Apache-2.0
// driver/abi.hpp - the CUDA driver API's types, enumerators and layouts, so that no toolkit is
// needed to build.
//
// Names, numbers and layouts are those of <cuda.h> 13.0, inside namespace weir::abi, so that a file
// may include both. tests/seam/abi_layout_test.cpp compares each of them with that header if the
// machine has it.
#pragma once

#include "driver/abi/constants.hpp"
#include "driver/abi/enums.hpp"
#include "driver/abi/external_memory_structs.hpp"
#include "driver/abi/graph_structs.hpp"
#include "driver/abi/launch_structs.hpp"
#include "driver/abi/memory_structs.hpp"
#include "driver/abi/resource_structs.hpp"
#include "driver/abi/scalars.hpp"
#include "driver/abi/stream_structs.hpp"
