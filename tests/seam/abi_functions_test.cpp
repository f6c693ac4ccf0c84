// SPDX-License-Identifier: Apache-2.0
// Every function of functions.def has the signature that <cuda.h> gives it, up to the types of
// abi.hpp.
#include "driver/table.hpp"

#include <gtest/gtest.h>
#include <type_traits>

// With this macro, the header also declares older forms of functions, and renames none.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

namespace {

namespace abi = weir::abi;

// The structures whose layouts abi_layout_test.cpp compares.
template <class Type>
constexpr bool layout_is_checked = false;
#define WEIR_LAYOUT(type, ...) \
  template <>                  \
  constexpr bool layout_is_checked<abi::type> = true;
#define WEIR_UNION(type, ...)
#include "seam/layouts.def"
#undef WEIR_LAYOUT
#undef WEIR_UNION
template <>
constexpr bool layout_is_checked<abi::CUstreamBatchMemOpParams> = true;
template <>
constexpr bool layout_is_checked<abi::CUlaunchAttributeValue> = true;

// Returns true if both parameter types are passed identically and have equal meaning. Follows
// pointers to their targets.
template <class Ours, class Theirs>
constexpr bool same_parameter();

template <class... Ours, class... Theirs>
constexpr bool same_signature(abi::CUresult (*)(Ours...), ::CUresult (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
    return (same_parameter<Ours, Theirs>() && ...);
  } else {
    return false;
  }
}

// A callback, compared by its parameters, too. All callbacks return void.
template <class... Ours, class... Theirs>
constexpr bool same_callback(void (*)(Ours...), void (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
    return (same_parameter<Ours, Theirs>() && ...);
  } else {
    return false;
  }
}

template <class Ours, class Theirs>
constexpr bool same_parameter() {
  if constexpr (std::is_same_v<Ours, Theirs>) {
    return true;  // numbers, void, and the handles, which are identical types at global scope
  } else if constexpr (std::is_const_v<Ours> != std::is_const_v<Theirs>) {
    return false;
  } else if constexpr (std::is_const_v<Ours>) {
    return same_parameter<std::remove_const_t<Ours>, std::remove_const_t<Theirs>>();
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using our_pointee = std::remove_pointer_t<Ours>;
    using their_pointee = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_function_v<our_pointee>) {
      return same_callback(Ours{}, Theirs{});
    } else {
      return same_parameter<our_pointee, their_pointee>();
    }
  } else if constexpr (std::is_enum_v<Ours> && std::is_enum_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs);  // its values: abi_layout_test.cpp
  } else if constexpr (std::is_class_v<Ours> || std::is_union_v<Ours>) {
    return layout_is_checked<Ours>;
  } else {
    return false;
  }
}

static_assert(!same_parameter<int, unsigned>() && !same_parameter<int*, int>() &&
              !same_parameter<const int*, int*>());

TEST(Functions, FunctionsHaveTheSignaturesOfTheHeader) {
  constexpr weir::detail::driver_table table;
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  EXPECT_TRUE(same_signature(table.symbol, static_cast<decltype(&::symbol)>(nullptr))) << #symbol;
#include "driver/functions.def"
#undef WEIR_FUNCTION
}

// cudaTypedefs.h names the type of each form of a function after its base name and version.
TEST(Functions, FunctionsHaveTheVersionsOfTheHeader) {
  constexpr weir::detail::driver_table table;
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments)               \
  EXPECT_TRUE(same_signature(table.symbol, static_cast<PFN_##base##_v##version>(nullptr))) \
      << #symbol;
#include "driver/functions.def"
#undef WEIR_FUNCTION
}

}  // namespace
