// SPDX-License-Identifier: Apache-2.0
// cases/context/ctx_stack.cpp - the context stack of each thread, and queries of a context.
#include "probe/probe.hpp"

#include <thread>

namespace weir::conformance {

void ctx_stack_cases() {
  add("ctx.stack", RAW | SLOW, [](Rec& r) {
    init_device();
    CUcontext a = nullptr, b = nullptr, cur = nullptr, out = nullptr;
    auto which = [&] {
      cur = nullptr;
      cuCtxGetCurrent(&cur);
      return std::string(cur == nullptr ? "null" : cur == a ? "a" : cur == b ? "b" : "other");
    };
    r.k("pop_empty", cuCtxPopCurrent(&out));
    r.k("create_a", cuCtxCreate(&a, nullptr, 0, g.dev));
    r.k("after_create_a", which());
    r.k("create_b", cuCtxCreate(&b, nullptr, 0, g.dev));
    r.k("after_create_b", which());
    r.k("pop_b", cuCtxPopCurrent(&out));
    r.k("popped_b", out == b);
    r.k("after_pop_b", which());
    r.k("push_a_again", cuCtxPushCurrent(a));
    r.k("after_push_a", which());
    r.k("pop1", cuCtxPopCurrent(&out));
    r.k("after_pop1", which());
    r.k("set_b", cuCtxSetCurrent(b));
    r.k("after_set_b", which());
    r.k("set_null", cuCtxSetCurrent(nullptr));
    r.k("after_set_null", which());
    r.k("set_null_empty", cuCtxSetCurrent(nullptr));
    r.k("pop_empty2", cuCtxPopCurrent(&out));
    r.k("set_on_empty", cuCtxSetCurrent(a));
    r.k("after_set_on_empty", which());
    r.k("push_b", cuCtxPushCurrent(b));
    r.k("set_null_two_deep", cuCtxSetCurrent(nullptr));
    r.k("after_two_deep", which());
    r.k("push_b2", cuCtxPushCurrent(b));
    r.k("destroy_current_b", cuCtxDestroy(b));
    r.k("after_destroy_b", which());
    r.k("pop_null_out", cuCtxPopCurrent(nullptr));
    r.k("after_pop_null_out", which());
    r.k("destroy_noncurrent_a", cuCtxDestroy(a));
  });

  add("ctx.current_is_per_thread", [](Rec& r) {
    on_thread(
        [&] {
          CUcontext c = g.ctx;
          r.k("other_get", cuCtxGetCurrent(&c));
          r.k("other_null", c == nullptr);
          CUstream s = nullptr;
          r.k("other_stream_create", cuStreamCreate(&s, 0));
          r.k("other_set", cuCtxSetCurrent(g.ctx));
          r.k("other_stream_create2", cuStreamCreate(&s, 0));
          if (s) cuStreamDestroy(s);
        },
        false);
    CUcontext c = nullptr;
    OK(cuCtxGetCurrent(&c));
    r.k("main_kept", c == g.ctx);
  });

  add("ctx.destroyed_under_thread", ISO | SECOND_CONTEXT | SLOW, [](Rec& r) {
    OtherCtx o;
    Trace& t = new_trace();
    Trace& go = new_trace();
    std::thread th([&] {
      r.k("thread_set", cuCtxSetCurrent(o));
      t.add("set");
      go.wait_size(1, 20000);
      CUdeviceptr p = 0;
      CUcontext c = nullptr;
      CUstream s = nullptr;
      r.k("thread_get_current", cuCtxGetCurrent(&c));
      r.k("thread_still_current", c == o.c);
      r.k("thread_mem_alloc", cuMemAlloc(&p, 16));
      r.k("thread_stream_create", cuStreamCreate(&s, 0));
      r.k("thread_sync", cuCtxSynchronize());
      CUdevice d = 0;
      r.k("thread_get_device", cuCtxGetDevice(&d));
      r.k("thread_pop", cuCtxPopCurrent(&c));
    });
    t.wait_size(1, kMustHappenMs);
    CUresult e = o.destroy();
    go.add("go");
    th.join();
    r.k("destroy", e);
  });

  add("ctx.destroy_twice", ISO | SECOND_CONTEXT | SLOW, [](Rec& r) {
    OtherCtx o;
    r.k("first", o.destroy());
    r.k("second", cuCtxDestroy(o));
    r.k("push", cuCtxPushCurrent(o));
    r.k("set", cuCtxSetCurrent(o));
  });

  add("ctx.queries", SECOND_CONTEXT, [](Rec& r) {
    CUdevice d = -1;
    unsigned f = 99, ver = 0;
    unsigned long long id1 = 0, id2 = 0, id3 = 0;
    r.k("get_device", cuCtxGetDevice(&d));
    r.k("device_ok", d == g.dev);
    r.k("get_flags", cuCtxGetFlags(&f));
    r.k("flags", f);
    r.k("api_version", cuCtxGetApiVersion(g.ctx, &ver));
    r.k("version", ver);
    r.k("api_version_null_ctx", cuCtxGetApiVersion(nullptr, &ver));
    OtherCtx o;
    r.k("id_current", cuCtxGetId(nullptr, &id1));
    r.k("id_primary", cuCtxGetId(g.ctx, &id2));
    r.k("id_other", cuCtxGetId(o, &id3));
    r.k("current_is_primary", id1 == id2);
    r.k("other_differs", id1 != id3);
    d = -1;
    r.k("device_v2_other", cuCtxGetDevice_v2(&d, o));
    r.k("device_v2_ok", d == g.dev);
    r.k("device_v2_null", cuCtxGetDevice_v2(&d, nullptr));
    Current cur(o);
    OK(cuCtxGetFlags(&f));
    r.k("other_flags", f);
    r.k("other_version", [&] {
      cuCtxGetApiVersion(o, &ver);
      return ver;
    }());
  });

  // one process for each valid flag: creating a context is slow here
  for (unsigned f : {0u, 1u, 2u, 4u, 8u, 0x10u, 0x80u})
    add("ctx.create_flags." + std::to_string(f), RAW | SLOW, [f](Rec& r) {
      init_device();
      CUcontext c = nullptr;
      if (r.k("create", cuCtxCreate(&c, nullptr, f, g.dev)) != CUDA_SUCCESS) return;
      unsigned got = 99;
      r.k("get", cuCtxGetFlags(&got));
      r.k("flags", got);
    });
  add("ctx.create_flags_bad", RAW | SLOW, [](Rec& r) {
    init_device();
    for (unsigned f : {3u, 5u, 7u, 0x100u, 0x80000000u}) {
      CUcontext c = nullptr;
      r.k("f" + std::to_string(f), cuCtxCreate(&c, nullptr, f, g.dev));
    }
    CUcontext c = nullptr;
    r.k("bad_dev", cuCtxCreate(&c, nullptr, 0, 99));
    r.k("neg_dev", cuCtxCreate(&c, nullptr, 0, -1));
    r.k("out_kept_null", c == nullptr);
  });

  add("ctx.limits", [](Rec& r) {
    for (int l = 0; l < 10; l++) {
      size_t v = 0;
      r.k("get" + std::to_string(l), cuCtxGetLimit(&v, static_cast<CUlimit>(l)));
    }
    size_t v = 0;
    OK(cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE));
    r.k("~stack", v);
    cuCtxGetLimit(&v, CU_LIMIT_MALLOC_HEAP_SIZE);
    r.k("~heap", v);
    r.k("bad", cuCtxGetLimit(&v, static_cast<CUlimit>(77)));
    r.k("set_bad", cuCtxSetLimit(static_cast<CUlimit>(77), 1));
    r.k("set_stack", cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
    OK(cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE));
    r.k("stack_after", v);
    cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024);
  });

  add("ctx.priority_range", [](Rec& r) {
    int lo = 77, hi = 77;
    r.k("range", cuCtxGetStreamPriorityRange(&lo, &hi));
    r.k("least", lo);
    r.k("greatest", hi);
    int one = 77;
    r.k("only_least", cuCtxGetStreamPriorityRange(&one, nullptr));
    r.k("only_greatest", cuCtxGetStreamPriorityRange(nullptr, &one));
  });
}

}  // namespace weir::conformance
