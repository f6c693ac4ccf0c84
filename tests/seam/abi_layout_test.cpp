// SPDX-License-Identifier: Apache-2.0
// Every type, value and layout of driver/abi.hpp equals that of <cuda.h>.
#include "driver/abi.hpp"

#include "seam/for_each.hpp"

#include <gtest/gtest.h>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

// Names that cuda.h defines as macros are used before that header is included.
struct tokens {
  const void* legacy = weir::abi::CU_STREAM_LEGACY;
  const void* per_thread = weir::abi::CU_STREAM_PER_THREAD;
  const void* end = weir::abi::CU_LAUNCH_PARAM_END;
  const void* buffer = weir::abi::CU_LAUNCH_PARAM_BUFFER_POINTER;
  const void* size = weir::abi::CU_LAUNCH_PARAM_BUFFER_SIZE;
};

}  // namespace

#include <cuda.h>

static_assert(CUDA_VERSION == 13000,
              "abi.hpp describes CUDA 13.0; CMake builds this test with that header only");

namespace {

namespace abi = weir::abi;

TEST(Abi, ResultsHaveTheNumbersOfTheHeader) {
  EXPECT_EQ(sizeof(abi::CUresult), sizeof(::CUresult));
#define WEIR_RESULT(name, number, errc, text) EXPECT_EQ(static_cast<int>(::name), number) << #name;
#include "driver/results.def"
#undef WEIR_RESULT
}

template <class Ours, class Theirs>
constexpr bool same_integer =
    sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<std::underlying_type_t<Ours>> ==
                                          std::is_signed_v<std::underlying_type_t<Theirs>>;

TEST(Abi, EnumeratorsHaveTheNumbersOfTheHeader) {
#define WEIR_ENUM(type, underlying) EXPECT_TRUE((same_integer<abi::type, ::type>)) << #type;
#define WEIR_VALUE(name, number) \
  EXPECT_EQ(static_cast<long long>(abi::name), static_cast<long long>(::name)) << #name;
#define WEIR_ENUM_END
#include "driver/abi/all_enums.def"
#undef WEIR_ENUM
#undef WEIR_VALUE
#undef WEIR_ENUM_END
}

// The name is the header's macro here, the value is weir's.
TEST(Abi, ConstantsHaveTheValuesOfTheHeader) {
#define WEIR_CONSTANT(type, name, value) \
  EXPECT_EQ(static_cast<long long>(name), static_cast<long long>(value)) << #name;
#include "driver/abi/constants.def"
#undef WEIR_CONSTANT

  const tokens ours;
  EXPECT_EQ(ours.legacy, CU_STREAM_LEGACY);
  EXPECT_EQ(ours.per_thread, CU_STREAM_PER_THREAD);
  EXPECT_EQ(ours.end, CU_LAUNCH_PARAM_END);
  EXPECT_EQ(ours.buffer, CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(ours.size, CU_LAUNCH_PARAM_BUFFER_SIZE);
}

struct member {
  const char* name;
  std::size_t offset, size, alignment;
};

template <class Ours, class Theirs>
void expect_same_shape(const char* type) {
  EXPECT_EQ(sizeof(Ours), sizeof(Theirs)) << type;
  EXPECT_EQ(alignof(Ours), alignof(Theirs)) << type;
}

void expect_same_members(const char* type, const std::vector<member>& ours,
                         const std::vector<member>& theirs) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].offset, theirs[i].offset) << type << "::" << ours[i].name;
    EXPECT_EQ(ours[i].size, theirs[i].size) << type << "::" << ours[i].name;
  }
}

// A member missing from layouts.def leaves a gap that padding does not explain.
void expect_no_holes(const char* type, const std::vector<member>& members, std::size_t size,
                     std::size_t alignment) {
  std::size_t end = 0;
  for (const member& m : members) {
    EXPECT_LT(m.offset - end, m.alignment) << "before " << type << "::" << m.name;
    end = m.offset + m.size;
  }
  EXPECT_LT(size - end, alignment) << "at the end of " << type;
}

#define WEIR_MEMBER(type, name)                                           \
  member{#name, offsetof(type, name), sizeof(std::declval<type&>().name), \
         alignof(decltype(std::declval<type&>().name))},
#define WEIR_MEMBERS(type, ...) \
  std::vector<member> { WEIR_FOR_EACH(WEIR_MEMBER, type, __VA_ARGS__) }

TEST(Abi, StructuresHaveTheLayoutOfTheHeader) {
#define WEIR_LAYOUT(type, ...)                                     \
  expect_same_shape<abi::type, ::type>(#type);                     \
  expect_same_members(#type, WEIR_MEMBERS(abi::type, __VA_ARGS__), \
                      WEIR_MEMBERS(::type, __VA_ARGS__));          \
  expect_no_holes(#type, WEIR_MEMBERS(::type, __VA_ARGS__), sizeof(::type), alignof(::type));
#define WEIR_UNION(type, ...)                                      \
  expect_same_shape<abi::type, ::type>(#type);                     \
  expect_same_members(#type, WEIR_MEMBERS(abi::type, __VA_ARGS__), \
                      WEIR_MEMBERS(::type, __VA_ARGS__));
#include "seam/layouts.def"
#undef WEIR_LAYOUT
#undef WEIR_UNION
}

}  // namespace
