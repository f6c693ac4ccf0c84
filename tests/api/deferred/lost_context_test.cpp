// SPDX-License-Identifier: Apache-2.0
// lost_context_test.cpp - the state after a device has failed: codes, callbacks, closures,
// destructors.
//
// A process loses its device once, so each test has its own process. Only the embedded driver's
// device can be made to fail on request.
#include <weir/core/deferred.hpp>
#include <weir/core/error.hpp>
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/module.hpp>
#include <weir/kernel/program.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/process.hpp"
#include "support/closure_probe.hpp"
#include "support/errors.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::closure_probe;
using test::closure_stats;
using test::failure_of;
using test::gate;
using test::result_of;
using test::unhandled_errors;

struct failing_work {
  void run() noexcept { embedded::engine::fail_device(abi::CUDA_ERROR_ILLEGAL_ADDRESS); }
};

// Queues work that fails like a kernel with an invalid pointer.
void queue_failure(const stream& s) {
  embedded::model::this_process().streams.find(s.get())->submit(
      embedded::engine::make_operation(failing_work{}));
}

class LostContext : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device{}.is_embedded()) GTEST_SKIP() << "needs a device that fails on request";
  }
};

// Rules 41 and 43: every query of the stream reports the error, and never "not done".
TEST_F(LostContext, EveryQueryReportsTheErrorOfALostContext) {
  test::in_a_fresh_process([] {
    const stream s{device{}};
    const event before{device{}};
    gate held{s};
    queue_failure(s);
    const event behind = s.record();
    if (!WEIR_HOLDS(s.status() == errc::not_ready) || !WEIR_HOLDS(!behind.done())) return false;
    held.open();
    const auto failure = failure_of([&] { s.sync(); });
    return WEIR_HOLDS(failure && failure->result() == errc::illegal_address) &&
           WEIR_HOLDS(failure->hint().find("context is lost") != std::string::npos) &&
           WEIR_HOLDS(s.status() == errc::illegal_address) &&
           WEIR_HOLDS(result_of([&] { static_cast<void>(s.done()); }) == errc::illegal_address) &&
           WEIR_HOLDS(result_of([&] { behind.sync(); }) == errc::illegal_address) &&
           WEIR_HOLDS(behind.status() == errc::illegal_address) &&
           WEIR_HOLDS(result_of([&] { static_cast<void>(s.sync_for(std::chrono::hours{1})); }) ==
                      errc::illegal_address) &&
           WEIR_HOLDS(device{}.primary_context().status() == errc::illegal_address) &&
           WEIR_HOLDS(result_of([] { device{}.sync(); }) == errc::illegal_address);
  });
}

// Nothing can be created or queued any more, and no partly constructed object is left.
TEST_F(LostContext, LaterCallsReportTheLostContext) {
  test::in_a_fresh_process([] {
    const device gpu;
    const stream s{gpu};
    const stream t{gpu};
    pinned_buffer<int> pinned{4};
    const event e{gpu};
    queue_failure(s);
    static_cast<void>(result_of([&] { s.sync(); }));
    const auto lost = errc::illegal_address;
    return WEIR_HOLDS(result_of([&] { const stream made{gpu}; }) == lost) &&
           WEIR_HOLDS(result_of([&] { const event made{gpu}; }) == lost) &&
           WEIR_HOLDS(result_of([&] {
                        const buffer<int> made{t, 4};
                      }) == lost) &&
           WEIR_HOLDS(result_of([&] { t.record(e); }) == lost) &&
           WEIR_HOLDS(result_of([&] { t.wait(s); }) == lost) &&
           WEIR_HOLDS(result_of([&] { copy(t, pinned.data(), pinned.data() + 1, 1); }) == lost);
  });
}

// Rule 65: a callback is called exactly once, with the status. Rule 66: a host function does not
// run, and its closure is destroyed exactly once.
TEST_F(LostContext, CallbacksRunAndHostFunctionsDoNotAfterAFailure) {
  test::in_a_fresh_process([] {
    const stream s{device{}};
    closure_stats callback;
    closure_stats function;
    closure_stats once;
    std::vector<errc> answers;
    gate held{s};
    queue_failure(s);
    add_callback(s, [&answers, w = closure_probe{callback}](errc status) {
      w.record_run();
      answers.push_back(status);
    });
    launch_host(s, [w = closure_probe{function}] { w.record_run(); });
    launch_host_once(s, [w = closure_probe{once}] { w.record_run(); });
    held.open();
    static_cast<void>(result_of([&] { s.sync(); }));
    // The sync returns at the failure, before the closures behind it are destroyed.
    while (callback.destructions + function.destructions + once.destructions < 3)
      std::this_thread::yield();
    return WEIR_HOLDS(callback.runs == 1) &&
           WEIR_HOLDS(answers == std::vector{errc::illegal_address}) &&
           WEIR_HOLDS(function.runs == 0) && WEIR_HOLDS(once.runs == 0) &&
           WEIR_HOLDS(callback.destructions == 1) && WEIR_HOLDS(function.destructions == 1) &&
           WEIR_HOLDS(once.destructions == 1);
  });
}

// Rule 160: all objects can be destroyed, and no destructor throws, hangs or ends the process.
TEST_F(LostContext, ObjectsOfALostContextCanBeDestroyed) {
  test::in_a_fresh_process([] {
    const unhandled_errors unhandled;
    const device gpu;
    std::optional<stream> s{std::in_place, gpu};
    std::optional<stream> t{std::in_place, gpu};
    std::optional<buffer<int>> x{std::in_place, *s, 100};
    std::optional<pinned_buffer<int>> pinned{std::in_place, 100};
    std::optional<event> e{s->record()};
    std::optional<context> kept{gpu};
    t->wait(*s);
    copy(*t, *x, *pinned);
    queue_failure(*s);
    static_cast<void>(result_of([&] { s->sync(); }));
    s.reset();
    x.reset();
    t.reset();
    pinned.reset();
    e.reset();
    kept.reset();
    drain_deferred();
    for (const error& each : unhandled.errors()) {
      if (!WEIR_HOLDS(each.result() == errc::illegal_address)) return false;
    }
    return WEIR_HOLDS(deferred_count() == 0);
  });
}

// Rule 162: shutdown() closes the stream even if the wait failed, and reports the error of the
// work.
TEST_F(LostContext, ShutdownReportsTheErrorOfTheWorkAndCloses) {
  test::in_a_fresh_process([] {
    stream s{device{}};
    queue_failure(s);
    const auto failure = failure_of([&] { s.shutdown(); });
    return WEIR_HOLDS(failure && failure->result() == errc::illegal_address) &&
           WEIR_HOLDS(s.closed());
  });
}

// The kernel touches only the far end of the array, beyond the guard page of the stack.
TEST_F(LostContext, AKernelArrayLargerThanItsStackIsAnIllegalAddress) {
  test::in_a_fresh_process([] {
    const device gpu;
    const stream s{gpu};
    const module code = program{R"(
      extern "C" __global__ void have_a_large_array(int* x) {
        volatile char part[1 << 20];
        part[threadIdx.x] = 1;
        __syncthreads();
        *x = part[0];
      }
    )"}
                            .compile(gpu);
    const buffer<int> x{s, 1};
    launch(s, {.grid = {2}, .block = {64}}, code.kernel("have_a_large_array"), x.data());
    return WEIR_HOLDS(result_of([&] { s.sync(); }) == errc::illegal_address);
  });
}

}  // namespace
}  // namespace weir
