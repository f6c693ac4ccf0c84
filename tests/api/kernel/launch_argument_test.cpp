// SPDX-License-Identifier: Apache-2.0
// launch_argument_test.cpp - kernel arguments: passed unchanged, and checked first.
#include <weir/kernel/launch_argument.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "api/kernel/kernel_fixture.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::mixed;
using test::result_of;

using LaunchArgument = test::Kernels;

// The access that an argument's type implies, for code that orders accesses.
template <class T>
constexpr memory_access access_of = detail::argument_for<T>::shape.access;
static_assert(access_of<int> == memory_access::unknown);
static_assert(access_of<int*> == memory_access::unknown);
static_assert(access_of<buffer<int>&> == memory_access::read_write);
static_assert(access_of<const buffer<int>&> == memory_access::read);
static_assert(access_of<std::span<int>> == memory_access::read_write);
static_assert(access_of<std::span<const int>> == memory_access::read);
static_assert(access_of<decltype(in(std::declval<buffer<int>&>()))> == memory_access::read);
static_assert(access_of<decltype(out(std::declval<buffer<int>&>()))> == memory_access::write);
static_assert(access_of<decltype(inout(std::declval<std::span<int>>()))> ==
              memory_access::read_write);
static_assert(access_of<decltype(in(std::declval<int*>(), 5))> == memory_access::read);
static_assert(access_of<decltype(in(std::declval<const int*>(), 5))> == memory_access::read);
static_assert(access_of<decltype(out(std::declval<int*>(), 5))> == memory_access::write);
static_assert(access_of<decltype(inout(std::declval<int*>(), 5))> == memory_access::read_write);

// An address may be one of const or volatile elements. The calls are evaluated, because only that
// instantiates their bodies.
constexpr bool passes(void* address, const detail::region& memory) {
  return memory.address == address && memory.bytes == 3 * sizeof(int) && memory.owner == nullptr;
}
constexpr bool qualified_addresses_are_passed() {
  int values[3]{};
  const int* const constant = values;
  volatile int* const changing = values;
  const volatile int* const both = values;
  return passes(values, in(constant, 3).region()) && passes(values, in(changing, 3).region()) &&
         passes(values, in(both, 3).region()) && passes(values, out(constant, 3).region()) &&
         passes(values, out(changing, 3).region()) && passes(values, inout(constant, 3).region()) &&
         passes(values, inout(changing, 3).region()) && passes(values, inout(both, 3).region());
}
static_assert(qualified_addresses_are_passed());
static_assert(access_of<std::shared_ptr<buffer<int>>&> == memory_access::read_write);

// The usual arguments allocate nothing and store only their value.
static_assert(sizeof(detail::argument_for<float>) == sizeof(void*));
static_assert(sizeof(detail::argument_for<buffer<int>&>) == sizeof(detail::region));

TEST_F(LaunchArgument, ArgumentsArriveUnchanged) {
  const kernel take_all = code->kernel("take_all");
  buffer<double> y{s, 11};
  launch(s, grid(x.size()), code->kernel("fill"), x, 42, 1000);
  const mixed m{'m', 2.5, -7};
  launch(s, {}, take_all, 'a', short{-2}, 3, -4LL, 0.5f, 0.25, true, m, x, y);
  std::vector<double> got(11);
  copy(s, y, got);
  s.sync();
  EXPECT_EQ(got, (std::vector<double>{'a', -2, 3, -4, 0.5, 0.25, 1, 'm', 2.5, -7, 42}));
}

TEST_F(LaunchArgument, MemoryIsPassedInManyForms) {
  const kernel fill = code->kernel("fill");
  const auto expect_filled = [&](int value) {
    EXPECT_EQ(values_of(x), std::vector<int>(1000, value));
  };
  int value = 0;
  launch(s, grid(1000), fill, x, ++value, 1000);
  expect_filled(value);
  launch(s, grid(1000), fill, out(x), ++value, 1000);
  expect_filled(value);
  launch(s, grid(1000), fill, x.data(), ++value, 1000);
  expect_filled(value);
  launch(s, grid(1000), fill, out(x.data(), 1000), ++value, 1000);
  expect_filled(value);
  launch(s, grid(1000), fill, std::span{x.data(), x.size()}, ++value, 1000);
  expect_filled(value);
  launch(s, grid(1000), fill, inout(std::span{x.data(), x.size()}), ++value, 1000);
  expect_filled(value);
  launch(s, grid(0), fill, nullptr, 1, 0);

  const auto shared = std::make_shared<buffer<int>>(s, 1000);
  launch(s, grid(1000), fill, shared, 50, 1000);
  launch(s, grid(1000), code->kernel("copy_ints"), in(shared), x, 1000);
  expect_filled(50);
  const buffer<int>& constant = *shared;
  launch(s, grid(1000), code->kernel("copy_ints"), constant, x, 1000);
  const auto failure =
      failure_of([&] { launch(s, grid(1000), fill, std::shared_ptr<buffer<int>>{}, 1, 1000); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_EQ(failure->call(), std::string{"cuLaunchKernel"});
}

TEST_F(LaunchArgument, PinnedAndManagedMemoryIsPassed) {
  const kernel fill = code->kernel("fill");
  pinned_buffer<int> pinned{1000};
  launch(s, grid(1000), fill, pinned, 1, 1000);
  managed_buffer<int> managed{1000, gpu};
  launch(s, grid(1000), fill, managed, 2, 1000);
  s.sync();
  EXPECT_EQ(pinned[999], 1);
  EXPECT_EQ(managed[999], 2);
}

// A std::nullptr_t object has no defined bytes, so an address is passed instead.
TEST_F(LaunchArgument, ANullPointerIsPassedAsAnAddress) {
  const module made =
      program{"extern \"C\" __global__ void is_null(const void* p, int* x) { *x = p == nullptr; }"}
          .compile(gpu);
  std::nullptr_t none;
  std::memset(&none, 0xff, sizeof none);
  for (const int value : {0, 1}) {
    launch(s, grid(1000), code->kernel("fill"), x, 0, 1000);
    value == 0 ? launch(s, {}, made.kernel("is_null"), none, x)
               : launch(s, {}, made.kernel("is_null"), nullptr, x);
    EXPECT_EQ(values_of(x)[0], 1);
  }
}

// The free is queued behind the launch on its stream.
TEST_F(LaunchArgument, TemporaryBuffersAreFreedAfterTheLaunch) {
  const kernel fill = code->kernel("fill");
  stream other{gpu};
  for (int i = 0; i < 20; ++i) launch(s, grid(1000), fill, buffer<int>{s, 1000}, i, 1000);
  for (int i = 0; i < 20; ++i) {
    buffer<int> made{other, 1000};
    s.wait(other);
    launch(s, grid(1000), fill, std::move(made), i, 1000);
    EXPECT_FALSE(made.closed()) << "only a capture takes the buffer over";
  }
  s.sync();
}

TEST_F(LaunchArgument, AWrongNumberOfArgumentsIsRefused) {
  const kernel fill = code->kernel("fill");
  const auto failure = failure_of([&] { launch(s, grid(1000), fill, x, 1); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("takes 3 arguments, and 2 were given"), std::string::npos)
      << failure->hint();
  EXPECT_NE(failure->object().find("\"fill\""), std::string::npos);
  EXPECT_EQ(result_of([&] { launch(s, {}, code->kernel("nothing"), 1); }), errc::invalid_value);
}

TEST_F(LaunchArgument, AnArgumentOfTheWrongSizeIsRefused) {
  const kernel fill = code->kernel("fill");
  const auto failure = failure_of([&] { launch(s, grid(1000), fill, x, 1, std::size_t{1000}); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("parameter 2"), std::string::npos) << failure->hint();
  EXPECT_NE(failure->hint().find("takes 4 bytes, and 8 were given"), std::string::npos)
      << failure->hint();
  EXPECT_EQ(result_of([&] { launch(s, {}, code->kernel("scale<float>"), x.data(), 2.0, 1); }),
            errc::invalid_value);
}

TEST_F(LaunchArgument, AnArgumentOfTheWrongAlignmentIsRefused) {
  struct alignas(16) wide {
    long long value;
    long long other;
  };
  static_assert(sizeof(wide) == 16);
  const module two = program{R"(
struct plain { long long value, other; };
extern "C" __global__ void take(int* x, plain p) { *x = (int)p.value; }
)"}
                         .compile(gpu);
  const auto failure = failure_of([&] { launch(s, {}, two.kernel("take"), x, wide{5, 6}); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("offset 8"), std::string::npos) << failure->hint();
}

}  // namespace
}  // namespace weir
