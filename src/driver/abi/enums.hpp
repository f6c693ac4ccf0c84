// driver/abi/enums.hpp - the driver API's enumerations, made from the lists beside this file.
//
// A list has one line a value: WEIR_ENUM(type, underlying type), WEIR_VALUE(name, number),
// WEIR_ENUM_END. The test that compares them with <cuda.h> reads the same lists, so a value cannot
// be here and unchecked.
#pragma once

namespace weir::abi {

// The underlying types are fixed, so that a number from a newer driver survives in them.
// clang-format off
#define WEIR_ENUM(type, underlying) enum type : underlying {
#define WEIR_VALUE(name, number) name = number,
#define WEIR_ENUM_END };
// clang-format on
#include "driver/abi/all_enums.def"
#undef WEIR_ENUM
#undef WEIR_VALUE
#undef WEIR_ENUM_END

// What every function answers.
enum CUresult : unsigned {
#define WEIR_RESULT(name, number, errc, text) name = number,
#include "driver/results.def"
#undef WEIR_RESULT
};

// Streams and kernel nodes are given the attributes of a launch.
using CUstreamAttrID = CUlaunchAttributeID;
using CUkernelNodeAttrID = CUlaunchAttributeID;

}  // namespace weir::abi
