// SPDX-License-Identifier: Apache-2.0
// driver/abi/enums.hpp - the driver API's enumerations, generated from the .def files in this
// folder.
//
// A .def file has one line for each value: WEIR_ENUM(type, underlying type), WEIR_VALUE(name,
// number), WEIR_ENUM_END. The test that compares the values with <cuda.h> reads these files, too,
// so it checks every value.
#pragma once

namespace weir::abi {

// The underlying types are fixed, so that a variable can hold a number of a newer driver.
// clang-format off
#define WEIR_ENUM(type, underlying) enum type : underlying {
#define WEIR_VALUE(name, number) name = number,
#define WEIR_ENUM_END };
// clang-format on
#include "driver/abi/all_enums.def"
#undef WEIR_ENUM
#undef WEIR_VALUE
#undef WEIR_ENUM_END

// The result of every function.
enum CUresult : unsigned {
#define WEIR_RESULT(name, number, errc, text) name = number,
#include "driver/results.def"
#undef WEIR_RESULT
};

// Streams and kernel nodes have attributes of a launch.
using CUstreamAttrID = CUlaunchAttributeID;
using CUkernelNodeAttrID = CUlaunchAttributeID;

}  // namespace weir::abi
