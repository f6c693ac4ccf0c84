// SPDX-License-Identifier: Apache-2.0
// out_of_memory_test.cpp - weir without free memory: operations are done completely or not at all,
// and the program does not end.
#include <weir/core/deferred.hpp>
#include <weir/core/error.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>
#include <weir/stream/stream_attributes.hpp>

#include <exception>
#include <new>
#include <optional>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "api/deferred/reclaimer.hpp"
#include "embedded/core/out_of_memory.hpp"
#include "support/fresh_process.hpp"

namespace weir {
namespace {

using embedded::out_of_memory;

// The reclaimer thread is started when there is memory for it. Tasks that were deferred before wait
// for it.
TEST(OutOfMemory, DeferredTasksWaitUntilTheReclaimerThreadCanStart) {
  test::in_a_fresh_process([] {
    static bool done = false;
    static detail::deferred_task first{nullptr, [](detail::deferred_task&) noexcept {
                                         done = true;
                                         return detail::task_result::done;
                                       }};
    {
      const out_of_memory now;
      detail::defer_task(first);
    }
    const bool waits = WEIR_HOLDS(deferred_count() == 1u) && WEIR_HOLDS(!done);
    drain_deferred();
    return waits && WEIR_HOLDS(done) && WEIR_HOLDS(deferred_count() == 0u);
  });
}

int heard = 0;
void count(std::exception_ptr) noexcept { ++heard; }

// A destructor that must defer a task without free memory reports that to the handler.
TEST(OutOfMemory, DestructorsNeedNoMemory) {
  const unhandled_error_handler before = set_unhandled_error_handler(&count);
  const device gpu;
  const stream s{gpu};
  std::optional<buffer<int>> memory{std::in_place, s, 10};
  std::optional<pinned_buffer<int>> pinned{std::in_place, 10};
  std::optional<event> mark{gpu};
  {
    const detail::scoped_active_capture captures;
    const out_of_memory now;
    memory.reset();
    pinned.reset();
    mark.reset();
  }
  EXPECT_EQ(heard, 2);
  set_unhandled_error_handler(before);
}

// If there is no memory for the error message either, the attributes are still restored.
TEST(OutOfMemory, StreamAttributesAreSetCompletelyOrNotAtAll) {
  const device gpu;
  const stream s{gpu};
  const stream_attributes of_s{s};
  const stream_settings wrong{.priority = gpu.priorities().greatest,
                              .sync_policy = sync_policy::block,
                              .sync_domain = sync_domain::remote,
                              .sync_domain_map = sync_domain_map{200, 0}};
  const auto answer_with_room_for = [&](int allocations) -> std::optional<errc> {
    try {
      const out_of_memory now{allocations};
      of_s.set(wrong);
      return errc::success;
    } catch (const error& e) {
      return e.result();
    } catch (const std::bad_alloc&) {
      return std::nullopt;
    }
  };
  std::optional<errc> answer;
  int allocations = 0;
  for (; !answer; ++allocations) {
    answer = answer_with_room_for(allocations);
    SCOPED_TRACE(allocations);
    EXPECT_EQ(of_s.priority(), 0);
    EXPECT_EQ(s.priority(), 0);
    EXPECT_EQ(of_s.sync_policy(), sync_policy::unset);
    EXPECT_EQ(of_s.sync_domain(), sync_domain::standard);
  }
  EXPECT_EQ(answer, errc::invalid_value);
  EXPECT_GT(allocations, 1) << "the error allocates memory";
}

}  // namespace
}  // namespace weir
