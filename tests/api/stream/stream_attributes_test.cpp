// SPDX-License-Identifier: Apache-2.0
// stream_attributes_test.cpp - attributes of a stream that can be set after its creation.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream_attributes.hpp>

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/created_context.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::result_of;

class StreamAttributes : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  stream_attributes of_s{s};
};

TEST_F(StreamAttributes, ANewStreamHasDefaultAttributes) {
  EXPECT_EQ(of_s.priority(), 0);
  EXPECT_EQ(of_s.sync_policy(), sync_policy::unset);
  EXPECT_EQ(of_s.access_window().bytes, 0u);
  EXPECT_EQ(of_s.sync_domain(), sync_domain::standard);
  EXPECT_EQ(of_s.sync_domain_map(), (sync_domain_map{0, 1}));
}

TEST_F(StreamAttributes, EverySyncPolicyIsSetAndReadBack) {
  for (const sync_policy policy :
       {sync_policy::automatic, sync_policy::spin, sync_policy::yield, sync_policy::block}) {
    of_s.set_sync_policy(policy);
    EXPECT_EQ(of_s.sync_policy(), policy);
    s.sync();
  }
  EXPECT_EQ(result_of([&] { of_s.set_sync_policy(sync_policy::unset); }), errc::invalid_value);
  EXPECT_EQ(of_s.sync_policy(), sync_policy::block);
}

// weir updates its stored priority, so a query still makes no driver call.
TEST_F(StreamAttributes, APriorityIsReportedByStreamAndAttributes) {
  const priority_range range = gpu.priorities();
  of_s.set_priority(range.greatest);
  EXPECT_EQ(of_s.priority(), range.greatest);
  const fault_table calls;
  EXPECT_EQ(s.priority(), range.greatest);
  EXPECT_EQ(calls.count_all(), 0);
}

// A driver would use the nearest valid priority.
TEST_F(StreamAttributes, APriorityOutOfRangeNamesTheRange) {
  const priority_range range = gpu.priorities();
  const auto failure = failure_of([&] { of_s.set_priority(range.least + 1); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find(std::to_string(range.greatest)), std::string::npos);
  EXPECT_EQ(of_s.priority(), 0);
}

TEST_F(StreamAttributes, AnAccessWindowIsSetAndReadBack) {
  buffer<char> x{s, 4096};
  const access_window window{x.data(), x.size_bytes(), 0.5f, cache_hint::persisting,
                             cache_hint::streaming};
  of_s.set_access_window(window);
  EXPECT_EQ(of_s.access_window(), window);
  access_window wrong = window;
  wrong.hit_ratio = 1.5f;
  EXPECT_EQ(result_of([&] { of_s.set_access_window(wrong); }), errc::invalid_value);
  wrong = window;
  wrong.miss = cache_hint::persisting;
  EXPECT_EQ(result_of([&] { of_s.set_access_window(wrong); }), errc::invalid_value);
  EXPECT_EQ(of_s.access_window(), window);
  of_s.set_access_window({});
  EXPECT_EQ(of_s.access_window().bytes, 0u);
  s.sync();
}

TEST_F(StreamAttributes, SyncDomainsAreSetAndReadBack) {
  const int count = gpu.attribute(device_attribute::sync_domain_count);
  of_s.set_sync_domain(sync_domain::remote);
  EXPECT_EQ(of_s.sync_domain(), sync_domain::remote);
  const auto last = static_cast<unsigned char>(count - 1);
  of_s.set_sync_domain_map({last, 0});
  EXPECT_EQ(of_s.sync_domain_map(), (sync_domain_map{last, 0}));
  EXPECT_EQ(result_of([&] {
              of_s.set_sync_domain_map({static_cast<unsigned char>(count), 0});
            }),
            errc::invalid_value);
}

TEST_F(StreamAttributes, SeveralAttributesAreSetAtOnce) {
  of_s.set({.priority = gpu.priorities().greatest,
            .sync_policy = sync_policy::yield,
            .sync_domain = sync_domain::remote});
  EXPECT_EQ(s.priority(), gpu.priorities().greatest);
  EXPECT_EQ(of_s.sync_policy(), sync_policy::yield);
  EXPECT_EQ(of_s.sync_domain(), sync_domain::remote);
  EXPECT_EQ(of_s.sync_domain_map(), (sync_domain_map{0, 1}))
      << "attributes without a value do not change";
}

// Either all attributes are set or none.
TEST_F(StreamAttributes, ARefusedAttributeRestoresTheOthers) {
  of_s.set_sync_policy(sync_policy::spin);
  EXPECT_EQ(result_of([&] {
              of_s.set({.priority = gpu.priorities().greatest,
                        .sync_policy = sync_policy::block,
                        .sync_domain_map = sync_domain_map{200, 0}});
            }),
            errc::invalid_value);
  EXPECT_EQ(of_s.priority(), 0);
  EXPECT_EQ(s.priority(), 0);
  EXPECT_EQ(of_s.sync_policy(), sync_policy::spin);
}

// The sync policy cannot be unset again, so it is set after the other attributes.
TEST_F(StreamAttributes, ARefusedAttributeLeavesTheSyncPolicyUnset) {
  EXPECT_EQ(
      result_of([&] {
        of_s.set({.sync_policy = sync_policy::block, .sync_domain_map = sync_domain_map{200, 0}});
      }),
      errc::invalid_value);
  EXPECT_EQ(of_s.sync_policy(), sync_policy::unset);
}

// The error names the attribute, the stream and the allowed values.
TEST_F(StreamAttributes, AnErrorNamesTheAttribute) {
  const auto expect = [&](const stream_settings& wrong, const char* name, const char* hint) {
    const auto failure = failure_of([&] {
      stream_settings all = wrong;
      all.priority = gpu.priorities().greatest;
      of_s.set(all);
    });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::invalid_value);
    EXPECT_STREQ(failure->call(), "cuStreamSetAttribute");
    EXPECT_EQ(failure->object(), to_string(s.ref()) + ", attribute " + name);
    EXPECT_NE(failure->hint().find(hint), std::string::npos) << failure->what();
  };
  expect({.sync_policy = sync_policy::unset}, "sync_policy", "automatic, spin, yield or block");
  expect({.access_window = access_window{.hit_ratio = 2.0f}}, "access_window", "from 0 to 1");
  expect({.sync_domain = static_cast<sync_domain>(7)}, "sync_domain", "remote");
  expect({.sync_domain_map = sync_domain_map{0, 200}}, "sync_domain_map", "sync_domain_count");
}

TEST_F(StreamAttributes, AttributesAreCopied) {
  const stream t{gpu, {.kind = stream_kind::blocking}};
  of_s.set({.priority = gpu.priorities().greatest, .sync_policy = sync_policy::yield});
  stream_attributes{t}.copy_from(s);
  EXPECT_EQ(stream_attributes{t}.sync_policy(), sync_policy::yield);
  EXPECT_EQ(t.priority(), gpu.priorities().greatest);
  EXPECT_TRUE(t.is_blocking());
}

TEST_F(StreamAttributes, AttributesAreNotCopiedAcrossContexts) {
  const test::created_context own{gpu};
  const stream t{context_ref{own}};
  EXPECT_EQ(result_of([&] { stream_attributes{t}.copy_from(s); }), errc::invalid_value);
}

TEST_F(StreamAttributes, AStreamIsCreatedWithAttributes) {
  const stream t =
      make_stream(gpu, {.kind = stream_kind::blocking}, {.sync_policy = sync_policy::block});
  EXPECT_EQ(stream_attributes{t}.sync_policy(), sync_policy::block);
  EXPECT_TRUE(t.is_blocking());
  const fault_table calls;
  EXPECT_EQ(result_of([&] {
              make_stream(gpu, {}, {.sync_domain_map = sync_domain_map{200, 0}}).close();
            }),
            errc::invalid_value);
  EXPECT_EQ(calls.count(&driver_table::cuStreamCreateWithPriority), 1);
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

TEST_F(StreamAttributes, AttributesDoNotBreakACapture) {
  test::foreign_capture foreign{s, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  of_s.set({.priority = gpu.priorities().greatest, .sync_policy = sync_policy::yield});
  EXPECT_EQ(of_s.sync_policy(), sync_policy::yield);
  EXPECT_TRUE(foreign.end());
}

TEST_F(StreamAttributes, ClosedStreamsAndHostFunctionsAreRefused) {
  stream gone{gpu};
  gone.close();
  const stream_attributes of_gone{gone};
  EXPECT_EQ(result_of([&] { static_cast<void>(of_gone.sync_policy()); }), errc::closed);
  EXPECT_EQ(result_of([&] { of_gone.set_priority(0); }), errc::closed);
  EXPECT_EQ(result_of([&] { of_s.copy_from(gone); }), errc::closed);
  errc inside = errc::success;
  launch_host(s, [&] { inside = result_of([&] { of_s.set_sync_policy(sync_policy::spin); }); });
  s.sync();
  EXPECT_EQ(inside, errc::not_permitted);
}

}  // namespace
}  // namespace weir
