// SPDX-License-Identifier: Apache-2.0
// module_test.cpp - modules: loading, functions, variables, unloading.
#include "image_fixture.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "embedded/core/out_of_memory.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "support/yield_for.hpp"

namespace weir::embedded {
namespace {

using Module = memory_test;

std::uint32_t read_word(CUdeviceptr from) {
  std::uint32_t value = 0;
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(&value, from, sizeof value), CUDA_SUCCESS);
  return value;
}

template <class Value>
Value attribute_of(CUdeviceptr address, CUpointer_attribute which) {
  Value value{};
  EXPECT_EQ(driver.cuPointerGetAttribute(&value, which, address), CUDA_SUCCESS) << which;
  return value;
}

// A function has one handle, however often it is looked up; an unknown name is an error.
TEST_F(Module, AFunctionHasOneHandle) {
  const test_module m;
  const CUfunction add = m.function("add");
  EXPECT_EQ(m.function("add"), add);
  EXPECT_NE(m.function("count"), add);
  CUfunction none = nullptr;
  EXPECT_EQ(driver.cuModuleGetFunction(&none, m, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver.cuModuleGetFunction(nullptr, m, "add"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuModuleGetFunction(&none, m, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuModuleGetFunction(&none, m, ""), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuModuleGetFunction(&none, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Module, AModuleListsItsFunctions) {
  const test_module m;
  unsigned count = 0;
  EXPECT_EQ(driver.cuModuleGetFunctionCount(&count, m), CUDA_SUCCESS);
  ASSERT_EQ(count, 4u);
  std::array<CUfunction, 5> listed{};
  EXPECT_EQ(driver.cuModuleEnumerateFunctions(listed.data(), 5, m), CUDA_SUCCESS);
  EXPECT_THAT(listed, testing::ElementsAre(m.function("add"), m.function("reverse"),
                                           m.function("count"), m.function("in_cluster"), nullptr));
  std::array<CUfunction, 2> two{};
  EXPECT_EQ(driver.cuModuleEnumerateFunctions(two.data(), 1, m), CUDA_SUCCESS);
  EXPECT_THAT(two, testing::ElementsAre(listed[0], nullptr));
}

// Each load has its own variables, with their initial values.
TEST_F(Module, EachModuleHasItsOwnVariables) {
  const test_module one;
  const test_module other;
  const CUdeviceptr counter = one.variable("counter", 4);
  EXPECT_NE(other.variable("counter", 4), counter);
  EXPECT_EQ(read_word(counter), 17u);
  EXPECT_EQ(driver.cuMemsetD32_v2(counter, 3, 1), CUDA_SUCCESS);
  EXPECT_EQ(read_word(counter), 3u);
  EXPECT_EQ(read_word(other.variable("counter", 4)), 17u);
  const test_module later;
  EXPECT_EQ(read_word(later.variable("counter", 4)), 17u);
}

TEST_F(Module, AVariableReturnsItsAddressAndItsSize) {
  const test_module m;
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(driver.cuModuleGetGlobal_v2(&address, nullptr, m, "table"), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleGetGlobal_v2(nullptr, &bytes, m, "table"), CUDA_SUCCESS);
  EXPECT_EQ(address, m.variable("table", 64));
  EXPECT_EQ(bytes, 64u);
  EXPECT_EQ(driver.cuModuleGetGlobal_v2(&address, &bytes, m, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver.cuModuleGetGlobal_v2(&address, &bytes, m, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuModuleGetGlobal_v2(&address, &bytes, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuModuleGetGlobal_v2(nullptr, nullptr, m, "table"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuModuleGetGlobal_v2(&address, &bytes, m, "add"),
            CUDA_ERROR_INVALID_VALUE);  // it is a function
}

// A variable is device memory: copies and memsets are checked against its size, and it cannot be
// freed.
TEST_F(Module, VariablesAreDeviceMemory) {
  const test_module m;
  for (const char* name : {"counter", "table"}) {
    const CUdeviceptr at = m.variable(name, std::strcmp(name, "table") == 0 ? 64 : 4);
    EXPECT_EQ(attribute_of<unsigned>(at, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(attribute_of<unsigned>(at, CU_POINTER_ATTRIBUTE_IS_MANAGED), 0u);
    EXPECT_EQ(attribute_of<int>(at, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 0);
    EXPECT_EQ(attribute_of<CUcontext>(at, CU_POINTER_ATTRIBUTE_CONTEXT), current_context());
    EXPECT_EQ(driver.cuMemFree_v2(at), CUDA_ERROR_INVALID_VALUE);
  }
  const CUdeviceptr counter = m.variable("counter", 4);
  EXPECT_EQ(driver.cuMemsetD32_v2(counter, 1, 2), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  EXPECT_EQ(driver.cuMemGetAddressRange_v2(&base, &size, counter + 1), CUDA_SUCCESS);
  EXPECT_EQ(base, counter);
  EXPECT_EQ(size, 4u);
}

TEST_F(Module, ManagedVariablesAreManagedMemory) {
  const test_module m;
  const CUdeviceptr at = m.variable("shared_with_host", 8);
  EXPECT_EQ(attribute_of<unsigned>(at, CU_POINTER_ATTRIBUTE_IS_MANAGED), 1u);
  EXPECT_EQ(attribute_of<CUdeviceptr>(at, CU_POINTER_ATTRIBUTE_HOST_POINTER), at);
  EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(at), 5u);
  EXPECT_EQ(driver.cuMemFree_v2(at), CUDA_ERROR_INVALID_VALUE);
}

// Unloading the module releases its prefetched pages. Value operations of streams refuse managed
// memory.
TEST_F(Module, ManagedVariablesArePrefetched) {
  const test_stream s;
  const test_module m;
  const std::size_t before = free_memory();
  const CUdeviceptr at = m.variable("shared_with_host", 8);
  EXPECT_EQ(driver.cuMemPrefetchAsync_v2(at, 8, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, s),
            CUDA_SUCCESS);
  s.synchronize();
  EXPECT_LT(free_memory(), before);
  EXPECT_EQ(driver.cuStreamWriteValue32_v2(s, at, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

// Unloading a module invalidates its handles and its variables' memory.
TEST_F(Module, FunctionsAndVariablesEndWithTheModule) {
  test_module m;
  const CUmodule handle = m;
  const CUfunction add = m.function("add");
  const CUdeviceptr counter = m.variable("counter", 4);
  m.unload();
  EXPECT_EQ(model::this_process().functions.find(add), nullptr);
  EXPECT_EQ(model::address_map::find(counter), nullptr);
  EXPECT_EQ(driver.cuModuleUnload(handle), CUDA_ERROR_INVALID_HANDLE);
  CUfunction none = nullptr;
  EXPECT_EQ(driver.cuModuleGetFunction(&none, handle, "add"), CUDA_ERROR_INVALID_HANDLE);
  int value = 0;
  EXPECT_EQ(driver.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, add),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Module, ANullModuleIsInvalid) {
  EXPECT_EQ(driver.cuModuleUnload(nullptr), CUDA_ERROR_INVALID_HANDLE);
  unsigned count = 0;
  EXPECT_EQ(driver.cuModuleGetFunctionCount(&count, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuModuleLoadData(nullptr, numbers_image().data()), CUDA_ERROR_INVALID_VALUE);
  CUmodule made = nullptr;
  EXPECT_EQ(driver.cuModuleLoadData(&made, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// Unloading waits, because any work of the context may use the module.
TEST_F(Module, UnloadingWaitsForTheWorkOfItsContext) {
  const test_stream s;
  test_module m;
  static std::atomic<bool> done;
  done = false;
  const auto late = [](void*) {
    test::yield_for(std::chrono::milliseconds{5});
    done = true;
  };
  EXPECT_EQ(driver.cuLaunchHostFunc(s, late, nullptr), CUDA_SUCCESS);
  m.unload();
  EXPECT_TRUE(done);
}

// Shared code stays loaded until its last user releases it.
TEST_F(Module, SharedCodeOutlivesItsModule) {
  test_module m;
  const std::shared_ptr<const model::module_image> image =
      model::this_process().functions.find(m.function("count"))->image();
  const weir_kernel& count = *image->find_kernel("count");
  m.unload();
  const weir_block block{{1, 1, 1}, {3, 1, 1}, {0, 0, 0}, {1, 1, 1}, nullptr, 0};
  count.run(&block, nullptr, 0, 3);
  EXPECT_EQ(*static_cast<const unsigned*>(image->find_variable("counter")->address), 20u);
}

// Rules 22.1 and 10: a module may be loaded during a capture, and unloaded only by a thread in
// relaxed mode.
TEST_F(Module, UnloadingBreaksACapture) {
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const test_stream s;
    ASSERT_EQ(driver.cuStreamBeginCapture_v2(s, mode), CUDA_SUCCESS);
    CUmodule m = nullptr;
    EXPECT_EQ(driver.cuModuleLoadData(&m, numbers_image().data()), CUDA_SUCCESS);
    CUfunction add = nullptr;
    EXPECT_EQ(driver.cuModuleGetFunction(&add, m, "add"), CUDA_SUCCESS);
    const bool relaxed = mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_EQ(driver.cuModuleUnload(m),
              relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph made = nullptr;
    EXPECT_EQ(driver.cuStreamEndCapture(s, &made),
              relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (relaxed) {
      EXPECT_EQ(driver.cuGraphDestroy(made), CUDA_SUCCESS);
    } else {
      EXPECT_EQ(driver.cuModuleUnload(m), CUDA_SUCCESS);
    }
  }
}

TEST_F(Module, HostFunctionsMayNotUseModuleCalls) {
  const test_stream s;
  const test_module m;
  struct called {
    CUmodule module;
    std::vector<CUresult> answers;
  } inside{m, {}};
  const auto call = [](void* data) {
    auto& of = *static_cast<called*>(data);
    CUmodule made = nullptr;
    CUfunction found = nullptr;
    CUdeviceptr at = 0;
    of.answers = {driver.cuModuleLoadData(&made, numbers_image().data()),
                  driver.cuModuleUnload(of.module),
                  driver.cuModuleGetFunction(&found, of.module, "add"),
                  driver.cuModuleGetGlobal_v2(&at, nullptr, of.module, "counter")};
  };
  EXPECT_EQ(driver.cuLaunchHostFunc(s, call, &inside), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_THAT(inside.answers,
              testing::ElementsAre(CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED,
                                   CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED));
}

TEST_F(Module, AModuleEndsWithItsContext) {
  CUcontext other = nullptr;
  ASSERT_EQ(driver.cuCtxCreate_v4(&other, nullptr, 0, 0), CUDA_SUCCESS);
  CUmodule m = nullptr;
  EXPECT_EQ(driver.cuModuleLoadData(&m, numbers_image().data()), CUDA_SUCCESS);
  CUdeviceptr counter = 0;
  EXPECT_EQ(driver.cuModuleGetGlobal_v2(&counter, nullptr, m, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(attribute_of<CUcontext>(counter, CU_POINTER_ATTRIBUTE_CONTEXT), other);
  EXPECT_EQ(driver.cuCtxDestroy_v2(other), CUDA_SUCCESS);
  EXPECT_EQ(model::address_map::find(counter), nullptr);
  EXPECT_EQ(driver.cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
}

// A module belongs to the current context; loading without one fails.
TEST_F(Module, LoadingNeedsACurrentContext) {
  CUcontext popped = nullptr;
  ASSERT_EQ(driver.cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
  CUmodule m = nullptr;
  EXPECT_EQ(driver.cuModuleLoadData(&m, numbers_image().data()), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(driver.cuCtxPushCurrent_v2(popped), CUDA_SUCCESS);
}

// The error log gives the reason in one line; the size options return the used size.
TEST_F(Module, TheErrorLogNamesTheReason) {
  std::array<char, 512> errors{};
  std::array<char, 512> news{};
  news[0] = 'x';
  std::array<CUjit_option, 5> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                                      CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                                      CU_JIT_WALL_TIME};
  const auto size = reinterpret_cast<void*>(std::size_t{512});
  std::array<void*, 5> values{errors.data(), size, news.data(), size, nullptr};
  CUmodule m = nullptr;
  const std::string image = read_image(WEIR_IMAGE_NEEDS_SYMBOL);
  EXPECT_EQ(driver.cuModuleLoadDataEx(&m, image.data(), 5, options.data(), values.data()),
            CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
  EXPECT_THAT(errors.data(), testing::HasSubstr("weir_test_undefined_function"));
  EXPECT_EQ(reinterpret_cast<std::size_t>(values[1]), std::strlen(errors.data()));
  EXPECT_EQ(news[0], '\0');
  EXPECT_EQ(values[3], nullptr);
  EXPECT_EQ(values[4], nullptr);  // there was nothing to compile

  values = {errors.data(), reinterpret_cast<void*>(std::size_t{5}), news.data(), size, nullptr};
  errors[5] = 'y';
  EXPECT_EQ(driver.cuModuleLoadDataEx(&m, "junk", 5, options.data(), values.data()),
            CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(std::strlen(errors.data()), 4u);
  EXPECT_EQ(reinterpret_cast<std::size_t>(values[1]), 5u);  // more than fits
  EXPECT_EQ(errors[5], 'y');

  values = {errors.data(), size, news.data(), size, nullptr};
  EXPECT_EQ(
      driver.cuModuleLoadDataEx(&m, ".version 7.0\n.bogus {", 5, options.data(), values.data()),
      CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(values[4], nullptr);
}

TEST_F(Module, UnknownOptionsAreRefused) {
  CUmodule m = nullptr;
  CUjit_option unknown = static_cast<CUjit_option>(99);
  void* value = nullptr;
  EXPECT_EQ(driver.cuModuleLoadDataEx(&m, numbers_image().data(), 1, &unknown, &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuModuleLoadDataEx(&m, numbers_image().data(), 1, nullptr, &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuModuleLoadDataEx(&m, numbers_image().data(), 0, nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleUnload(m), CUDA_SUCCESS);
}

// A load that runs out of memory leaves nothing behind, and the next one succeeds.
TEST_F(Module, AModuleWithoutMemoryIsNotLoaded) {
  for (int after = 0;; ++after) {
    CUmodule m = nullptr;
    CUfunction add = nullptr;
    CUresult status = CUDA_SUCCESS;
    {
      const out_of_memory soon{after};
      status = driver.cuModuleLoadData(&m, numbers_image().data());
      if (status == CUDA_SUCCESS) status = driver.cuModuleGetFunction(&add, m, "add");
    }
    if (m != nullptr) {
      EXPECT_EQ(driver.cuModuleUnload(m), CUDA_SUCCESS);
    }
    if (status == CUDA_SUCCESS) break;
    ASSERT_EQ(status, CUDA_ERROR_OUT_OF_MEMORY) << after;
  }
}

// A library's constructor may load modules while other threads load and unload modules.
TEST_F(Module, ModulesAreLoadedInConstructorsOfLibraries) {
  static constexpr auto load_one = [] {
    CUmodule made = nullptr;
    EXPECT_EQ(driver.cuModuleLoadData(&made, numbers_image().data()), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleUnload(made), CUDA_SUCCESS);
  };
  void (*const call)() = load_one;
  std::array<char, 32> address;
  std::snprintf(address.data(), address.size(), "%p", reinterpret_cast<void*>(call));
  ::setenv("WEIR_TEST_PLUGIN_CALLS", address.data(), 1);
  std::atomic<bool> done{false};
  std::thread other{[&, in = current_context()] {
    EXPECT_EQ(driver.cuCtxSetCurrent(in), CUDA_SUCCESS);
    while (!done) load_one();
  }};
  for (int i = 0; i < 100; ++i) {
    void* const plugin = ::dlopen(WEIR_IMAGE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << ::dlerror();
    ::dlclose(plugin);
  }
  done = true;
  other.join();
  ::unsetenv("WEIR_TEST_PLUGIN_CALLS");
}

TEST_F(Module, ThreadsLoadModulesConcurrently) {
  const CUcontext context = current_context();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
      for (int i = 0; i < 20; ++i) {
        const test_module m;
        EXPECT_NE(m.function("add"), nullptr);
        EXPECT_EQ(read_word(m.variable("counter", 4)), 17u);
      }
    });
  }
  for (std::thread& each : threads) each.join();
}

}  // namespace
}  // namespace weir::embedded
