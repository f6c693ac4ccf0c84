// SPDX-License-Identifier: Apache-2.0
// cases/kernel/launch_attributes.cpp - launch attributes, and the order of their checks.
#include "cases/kernel/launches.hpp"

#include <cstring>
#include <utility>

namespace weir::conformance {

namespace {

void rec_attributes_of_launch(Rec& r, const std::string& key,
                              std::vector<CUlaunchAttribute> attributes, CUstream s = nullptr) {
  r.k(key, Launch{.grid = {4, 1, 1}, .stream = s, .attributes = std::move(attributes)}.run(
               launched_kernel("empty")));
  OK(cuCtxSynchronize());
}

}  // namespace

void launch_attributes_cases() {
  add("kernel.launch_attributes", [](Rec& r) {
    rec_attributes_of_launch(r, "ignore", {launch_attribute(CU_LAUNCH_ATTRIBUTE_IGNORE)});
    rec_attributes_of_launch(r, "unknown_15",
                             {launch_attribute(static_cast<CUlaunchAttributeID>(15))});
    rec_attributes_of_launch(r, "unknown_17",
                             {launch_attribute(static_cast<CUlaunchAttributeID>(17))});
    rec_attributes_of_launch(r, "unknown_99",
                             {launch_attribute(static_cast<CUlaunchAttributeID>(99))});
    rec_attributes_of_launch(r, "policy_spin", {policy_of(CU_SYNC_POLICY_SPIN)});
    rec_attributes_of_launch(r, "policy_0", {policy_of(static_cast<CUsynchronizationPolicy>(0))});
    rec_attributes_of_launch(r, "priority_minus_5", {priority_of(-5)});
    rec_attributes_of_launch(r, "priority_minus_6", {priority_of(-6)});
    rec_attributes_of_launch(r, "priority_1", {priority_of(1)});
    rec_attributes_of_launch(r, "serial_1", {serial(1)});
    rec_attributes_of_launch(r, "serial_2", {serial(2)});
    rec_attributes_of_launch(r, "updatable_0", {updatable(0)});
    rec_attributes_of_launch(r, "updatable_1", {updatable(1)});
    const auto scheduling = [](unsigned p) {
      return launch_attribute(
          CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, [&](auto& v) {
            v.clusterSchedulingPolicyPreference = static_cast<CUclusterSchedulingPolicy>(p);
          });
    };
    rec_attributes_of_launch(r, "scheduling_2", {scheduling(2)});
    rec_attributes_of_launch(r, "scheduling_3", {scheduling(3)});
    const auto carveout = [](unsigned p) {
      return launch_attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                              [&](auto& v) { v.sharedMemCarveout = p; });
    };
    rec_attributes_of_launch(r, "carveout_50", {carveout(50)});
    rec_attributes_of_launch(r, "carveout_101", {carveout(101)});
    rec_attributes_of_launch(r, "carveout_minus_1", {carveout(static_cast<unsigned>(-1))});
    const auto domain = [](unsigned d) {
      return launch_attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, [&](auto& v) {
        v.memSyncDomain = static_cast<CUlaunchMemSyncDomain>(d);
      });
    };
    rec_attributes_of_launch(r, "domain_1", {domain(1)});
    rec_attributes_of_launch(r, "domain_2", {domain(2)});
    const auto map = [](unsigned char normal, unsigned char remote) {
      return launch_attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, [&](auto& v) {
        v.memSyncDomainMap = {normal, remote};
      });
    };
    rec_attributes_of_launch(r, "map_0_3", {map(0, 3)});
    rec_attributes_of_launch(r, "map_0_4", {map(0, 4)});
    const auto preferred = [](unsigned x) {
      return launch_attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, [&](auto& v) {
        v.preferredClusterDim = {x, 1, 1};
      });
    };
    rec_attributes_of_launch(r, "preferred_4", {preferred(4)});
    rec_attributes_of_launch(r, "preferred_4_of_2", {cluster_of(2), preferred(4)});
    rec_attributes_of_launch(r, "preferred_3_of_2", {cluster_of(2), preferred(3)});
    rec_attributes_of_launch(
        r, "nvlink", {launch_attribute(CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING)});
    CUlaunchConfig config;
    std::memset(&config, 0, sizeof config);
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY =
        config.blockDimZ = 1;
    const CUfunction empty = launched_kernel("empty");
    r.k("no_config", cuLaunchKernelEx(nullptr, empty, nullptr, nullptr));
    config.attrs = nullptr;
    config.numAttrs = 1;
    r.k("attributes_missing", cuLaunchKernelEx(&config, empty, nullptr, nullptr));
    config.numAttrs = 0;
    r.k("no_function", cuLaunchKernelEx(&config, nullptr, nullptr, nullptr));
    OK(cuCtxSynchronize());
  });
  add("kernel.launch_events", [](Rec& r) {
    Stream s(NB);
    Event untimed(CU_EVENT_DISABLE_TIMING), timed(CU_EVENT_DEFAULT);
    kern();
    rec_attributes_of_launch(r, "done_timed", {done_event(timed)}, s);
    rec_attributes_of_launch(r, "done_null", {done_event(nullptr)}, s);
    rec_attributes_of_launch(r, "done_external", {done_event(untimed, CU_EVENT_RECORD_EXTERNAL)},
                             s);
    rec_attributes_of_launch(r, "done_flags_2", {done_event(untimed, 2)}, s);
    rec_attributes_of_launch(r, "done_at_start", {done_event(untimed, 0, 1)}, s);
    rec_attributes_of_launch(r, "done_at_start_2", {done_event(untimed, 0, 2)}, s);
    rec_attributes_of_launch(r, "started_timed", {started_event(timed)}, s);
    rec_attributes_of_launch(r, "started_null", {started_event(nullptr)}, s);
    rec_attributes_of_launch(r, "started_flags_2", {started_event(untimed, 2)}, s);
    rec_attributes_of_launch(r, "both", {done_event(untimed), started_event(untimed)}, s);
    rec_attributes_of_launch(r, "both_and_serial", {done_event(untimed), serial(1)}, s);
    // behind a running kernel, and while its own kernel runs
    Event done(CU_EVENT_DISABLE_TIMING), started(CU_EVENT_DISABLE_TIMING);
    KGate before, during;
    before.arm(s);
    CUdeviceptr d = during.where();
    unsigned long long cycles = 12000000000ull;
    void* args[] = {&d, &cycles};
    r.k("launch", Launch{.stream = s, .attributes = {done_event(done), started_event(started)}}.run(
                      kern().spin, args));
    r.k("before.done", cuEventQuery(done));
    r.k("before.started", cuEventQuery(started));
    before.open();
    r.k("during.started",
        wait_for([&] { return cuEventQuery(started) == CUDA_SUCCESS; }, kMustHappenMs));
    r.k("during.done", cuEventQuery(done));
    during.open();
    OK(cuStreamSynchronize(s));
    r.k("after.done", cuEventQuery(done));
    r.k("after.started", cuEventQuery(started));
  });
  add("kernel.launch_order", [](Rec& r) {
    // which of several errors in one call is reported
    const CUfunction empty = launched_kernel("empty"), store = launched_kernel("store");
    Stream gone_stream(NB);
    const CUlaunchAttribute unknown = launch_attribute(static_cast<CUlaunchAttributeID>(99));
    r.k("grid_and_params", Launch{.grid = {0, 1, 1}}.run(store));
    r.k("grid_and_attribute", Launch{.grid = {0, 1, 1}, .attributes = {unknown}}.run(empty));
    r.k("function_and_grid", Launch{.grid = {0, 1, 1}}.run(nullptr));
    r.k("cluster_and_block",
        Launch{.block = {2048, 1, 1}, .attributes = {cluster_of(64)}}.run(empty));
    r.k("cluster_size_and_grid",
        Launch{.grid = {3, 1, 1}, .attributes = {cluster_of(64)}}.run(empty));
    OK(cuCtxSynchronize());
  });
  add("kernel.launch_order_capture", ISO, [](Rec& r) {
    // in an invalidated capture, and in one that the error may invalidate
    const CUfunction empty = launched_kernel("empty");
    const CUlaunchAttribute unknown = launch_attribute(static_cast<CUlaunchAttributeID>(99));
    Stream s(NB);
    begin(s);
    r.k("grid_0", Launch{.grid = {0, 1, 1}, .stream = s}.run(empty));
    r.k("status", capture_status(s));
    r.k("attribute", Launch{.stream = s, .attributes = {unknown}}.run(empty));
    r.k("status2", capture_status(s));
    r.k("block_2048", Launch{.block = {2048, 1, 1}, .stream = s}.run(empty));
    r.k("status3", capture_status(s));
    r.k("cluster_9",
        Launch{.grid = {9, 1, 1}, .stream = s, .attributes = {cluster_of(9)}}.run(empty));
    r.k("status4", capture_status(s));
    r.k("no_function", Launch{.stream = s}.run(nullptr));
    r.k("status5", capture_status(s));
    r.k("break", cuStreamSynchronize(s));
    r.k("broken.good", Launch{.stream = s}.run(empty));
    r.k("broken.grid_0", Launch{.grid = {0, 1, 1}, .stream = s}.run(empty));
    r.k("broken.attribute", Launch{.stream = s, .attributes = {unknown}}.run(empty));
    r.k("broken.no_function", Launch{.stream = s}.run(nullptr));
    rec_end(r, "end", s);
  });
  add("kernel.launch_mistake_in_capture", [](Rec& r) {
    // each error in a fresh capture
    const CUfunction empty = launched_kernel("empty"), store = launched_kernel("store");
    Event untimed(CU_EVENT_DISABLE_TIMING), timed(CU_EVENT_DEFAULT);
    const auto in_capture = [&](const std::string& key, const Launch& how, CUfunction f) {
      Stream s(NB);
      begin(s);
      lab(s, "a");
      Launch there = how;
      there.stream = s;
      r.k(key, there.run(f));
      r.k(key + ".status", capture_status(s));
      rec_end(r, key + ".end", s);
    };
    in_capture("attribute",
               {.attributes = {launch_attribute(static_cast<CUlaunchAttributeID>(99))}}, empty);
    in_capture("block_2048", {.block = {2048, 1, 1}}, empty);
    in_capture("cluster_9", {.grid = {9, 1, 1}, .attributes = {cluster_of(9)}}, empty);
    in_capture("cooperative_too_large",
               {.grid = {132 * 32 + 1, 1, 1}, .attributes = {cooperative(1)}}, empty);
    in_capture("no_function", {}, nullptr);
    in_capture("no_arguments", {}, store);
    in_capture("updatable_0", {.attributes = {updatable(0)}}, empty);
    in_capture("updatable_1", {.attributes = {updatable(1)}}, empty);
    in_capture("done_timed", {.attributes = {done_event(timed)}}, empty);
    in_capture("done_null", {.attributes = {done_event(nullptr)}}, empty);
    in_capture("done_external", {.attributes = {done_event(untimed, CU_EVENT_RECORD_EXTERNAL)}},
               empty);
    in_capture("started_external",
               {.attributes = {started_event(untimed, CU_EVENT_RECORD_EXTERNAL)}}, empty);
  });
  add("kernel.launch_no_arguments", [](Rec& r) {
    r.k("store_no_params", Launch{}.run(launched_kernel("store"), nullptr));
    OK(cuCtxSynchronize());
  });
  add("kernel.launch_null_argument", [](Rec& r) {
    void* none[] = {nullptr, nullptr};
    r.k("store_null", Launch{}.run(launched_kernel("store"), none));
    OK(cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
