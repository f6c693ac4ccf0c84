// SPDX-License-Identifier: Apache-2.0
// error_test.cpp - messages of errors, errors attached to them, and the handler of errors that
// cannot be thrown.
#include <weir/core/error.hpp>
#include <weir/core/to_string.hpp>
#include <weir/stream/stream.hpp>

#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::unhandled_errors;

static_assert(std::is_base_of_v<std::system_error, error>);
static_assert(std::is_error_code_enum_v<errc>);
static_assert(std::is_nothrow_copy_constructible_v<error> &&
              std::is_nothrow_copy_assignable_v<error>);

error example(errc code, std::string object = "stream 7", std::string hint = "do better") {
  return error{code, "cuSomething", std::move(object), std::move(hint), call_site::current()};
}

TEST(Error, AnErrorDescribesEverythingInOneLine) {
  const error e = example(errc::invalid_value);
  const std::string line = e.what();
  for (const char* part : {"cuSomething", "on stream 7", "CUDA_ERROR_INVALID_VALUE", "(1)",
                           "error_test.cpp", "do better"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " is not in: " << line;
  }
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(e.result(), errc::invalid_value);
  EXPECT_STREQ(e.call(), "cuSomething");
  EXPECT_EQ(e.object(), "stream 7");
  EXPECT_EQ(e.hint(), "do better");
  EXPECT_GT(e.where().line(), 0u);
}

TEST(Error, AnErrorNamesTheLineOfTheCaller) {
  stream s{device{}};
  s.close();
  const unsigned here = __LINE__ + 1;
  const auto failure = failure_of([&] { s.sync(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->where().line(), here);
}

// A wrapper of weir passes its own caller's line.
TEST(Error, AnErrorNamesTheCallSiteThatAWrapperPasses) {
  const auto wrapper = [](stream_ref s, call_site at = call_site::current()) { s.sync(at); };
  stream s{device{}};
  s.close();
  const unsigned here = __LINE__ + 1;
  const auto failure = failure_of([&] { wrapper(s); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->where().line(), here);
}

TEST(Error, ErrorCodesMatchTheDriverByNumberAndName) {
  for (const errc code : {errc::invalid_value, errc::not_ready, errc::illegal_address,
                          errc::stream_capture_isolation}) {
    const char* name = nullptr;
    ASSERT_EQ(driver().cuGetErrorName(static_cast<abi::CUresult>(code), &name), abi::CUDA_SUCCESS);
    EXPECT_NE(make_error_code(code).message().find(name), std::string::npos) << name;
  }
  EXPECT_STREQ(driver_category().name(), "weir");
  EXPECT_EQ(to_string(errc::out_of_memory), "out_of_memory");
}

// A driver may be newer than weir.
TEST(Error, AnUnknownErrorNumberIsKept) {
  const error e = example(static_cast<errc>(4711));
  EXPECT_EQ(static_cast<int>(e.result()), 4711);
  EXPECT_NE(std::string{e.what()}.find("4711"), std::string::npos) << e.what();
  EXPECT_EQ(to_string(static_cast<errc>(4711)), "errc 4711");
}

TEST(Error, WeirErrorCodesHaveMessages) {
  for (const errc code : {errc::closed, errc::not_recorded, errc::timing_disabled, errc::wrong_type,
                          errc::exhausted}) {
    EXPECT_LT(static_cast<int>(code), 0) << "the driver has no negative error numbers";
    EXPECT_EQ(make_error_code(code).message().rfind(to_string(code) + ": ", 0), 0u);
  }
}

TEST(Error, ErrorCodesCompareWithStandardConditions) {
  EXPECT_EQ(make_error_code(errc::invalid_value), std::errc::invalid_argument);
  EXPECT_EQ(make_error_code(errc::out_of_memory), std::errc::not_enough_memory);
  EXPECT_EQ(make_error_code(errc::not_supported), std::errc::not_supported);
  EXPECT_EQ(make_error_code(errc::timeout), std::errc::timed_out);
  EXPECT_EQ(make_error_code(errc::not_permitted), std::errc::operation_not_permitted);
  EXPECT_NE(make_error_code(errc::launch_failed), std::errc::invalid_argument);
  EXPECT_FALSE(make_error_code(errc::success));
  const std::error_code implicit = errc::closed;
  EXPECT_EQ(implicit, make_error_code(errc::closed));
}

// Rule 165.
TEST(Error, AttachedErrorsAreKeptInOrderAndDescribed) {
  error first = example(errc::launch_failed);
  const error same = first;
  first.attach(example(errc::invalid_handle, "event 8", ""));
  first.attach(example(errc::out_of_memory, "", ""));
  ASSERT_EQ(first.attached().size(), 2u);
  EXPECT_EQ(first.attached()[0].result(), errc::invalid_handle);
  EXPECT_EQ(first.attached()[0].object(), "event 8");
  EXPECT_EQ(first.attached()[1].result(), errc::out_of_memory);
  EXPECT_EQ(first.result(), errc::launch_failed);
  EXPECT_NE(std::string{first.what()}.find("event 8"), std::string::npos);
  EXPECT_TRUE(same.attached().empty()) << "a copy of an error does not change";
  EXPECT_EQ(std::string{same.what()}.find("event 8"), std::string::npos);
}

// Neither error keeps the other alive: each holds a copy of the other.
TEST(Error, ErrorsAttachedToEachOtherFormNoCycle) {
  error a = example(errc::launch_failed, "one");
  error b = example(errc::out_of_memory, "two");
  a.attach(b);
  b.attach(a);
  a.attach(b);
  ASSERT_EQ(a.attached().size(), 2u);
  EXPECT_TRUE(a.attached()[0].attached().empty());
  ASSERT_EQ(a.attached()[1].attached().size(), 1u);
  EXPECT_EQ(a.attached()[1].attached()[0].attached().size(), 1u);
  error inner = a.attached()[0];
  inner.attach(a);
  EXPECT_TRUE(a.attached()[0].attached().empty());
}

TEST(Error, ThreadsCanAttachToTheirOwnCopiesConcurrently) {
  const error shared = example(errc::launch_failed, "one");
  const error later = example(errc::out_of_memory, "two");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        error mine = shared;
        mine.attach(later);
        mine.attach(later);
        EXPECT_EQ(mine.attached().size(), 2u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(shared.attached().empty());
}

TEST(Error, AssignmentCopiesTheWholeError) {
  error e = example(errc::launch_failed, "one");
  e = example(errc::closed, "another");
  EXPECT_EQ(e.result(), errc::closed);
  EXPECT_EQ(e.object(), "another");
  const error& itself = e;
  e = itself;
  EXPECT_EQ(e.object(), "another");
}

// Rule 160: the handler can be replaced, and null restores weir's default handler.
TEST(UnhandledError, TheUnhandledErrorHandlerIsReplaceable) {
  const unhandled_error_handler nothing = [](std::exception_ptr) noexcept {};
  const unhandled_error_handler original = set_unhandled_error_handler(nothing);
  EXPECT_NE(original, nullptr);
  EXPECT_EQ(set_unhandled_error_handler(nullptr), nothing);
  EXPECT_EQ(set_unhandled_error_handler(original), original);
}

}  // namespace
}  // namespace weir
