// SPDX-License-Identifier: Apache-2.0
// library_test.cpp - libraries: kernels without a context, and their functions and variables in
// each context.
#include "embedded/core/out_of_memory.hpp"
#include "image_fixture.hpp"

#include <array>
#include <utility>

namespace weir::embedded {
namespace {

class Library : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    ASSERT_EQ(load(library), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (library != nullptr) {
      EXPECT_EQ(driver.cuLibraryUnload(library), CUDA_SUCCESS);
    }
    memory_test::TearDown();
  }

  static CUresult load(CUlibrary& out) {
    return driver.cuLibraryLoadData(&out, numbers_image().data(), nullptr, nullptr, 0, nullptr,
                                    nullptr, 0);
  }
  [[nodiscard]] CUkernel kernel(const char* name) const {
    CUkernel found = nullptr;
    EXPECT_EQ(driver.cuLibraryGetKernel(&found, library, name), CUDA_SUCCESS) << name;
    return found;
  }
  static CUfunction function(CUkernel of) {
    CUfunction found = nullptr;
    EXPECT_EQ(driver.cuKernelGetFunction(&found, of), CUDA_SUCCESS);
    return found;
  }
  [[nodiscard]] CUdeviceptr counter() const {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(driver.cuLibraryGetGlobal(&address, &bytes, library, "counter"), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 4u);
    return address;
  }

  CUlibrary library = nullptr;
};

// Makes another context current for the lifetime of this object.
class other_context {
 public:
  other_context() { EXPECT_EQ(driver.cuCtxCreate_v4(&handle_, nullptr, 0, 0), CUDA_SUCCESS); }
  ~other_context() { EXPECT_EQ(driver.cuCtxDestroy_v2(handle_), CUDA_SUCCESS); }
  other_context(const other_context&) = delete;
  other_context& operator=(const other_context&) = delete;

 private:
  CUcontext handle_ = nullptr;
};

TEST_F(Library, ALibraryListsItsKernels) {
  unsigned count = 0;
  EXPECT_EQ(driver.cuLibraryGetKernelCount(&count, library), CUDA_SUCCESS);
  ASSERT_EQ(count, 4u);
  std::array<CUkernel, 5> all{};
  EXPECT_EQ(driver.cuLibraryEnumerateKernels(all.data(), 5, library), CUDA_SUCCESS);
  EXPECT_THAT(all, testing::ElementsAre(kernel("add"), kernel("reverse"), kernel("count"),
                                        kernel("in_cluster"), nullptr));
  CUkernel none = nullptr;
  EXPECT_EQ(driver.cuLibraryGetKernel(&none, library, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver.cuLibraryGetKernel(&none, nullptr, "add"), CUDA_ERROR_INVALID_HANDLE);
}

// A kernel's properties can be queried without a context.
TEST_F(Library, KernelsNeedNoContext) {
  CUcontext popped = nullptr;
  ASSERT_EQ(driver.cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
  CUlibrary other = nullptr;
  EXPECT_EQ(load(other), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLibraryUnload(other), CUDA_SUCCESS);
  const char* name = nullptr;
  EXPECT_EQ(driver.cuKernelGetName(&name, kernel("reverse")), CUDA_SUCCESS);
  EXPECT_STREQ(name, "reverse");
  CUlibrary library_handle = nullptr;
  EXPECT_EQ(driver.cuKernelGetLibrary(&library_handle, kernel("reverse")), CUDA_SUCCESS);
  EXPECT_EQ(library_handle, library);
  int threads = 0;
  EXPECT_EQ(driver.cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                        kernel("reverse"), 0),
            CUDA_SUCCESS);
  EXPECT_EQ(threads, 256);
  CUfunction none = nullptr;
  EXPECT_EQ(driver.cuKernelGetFunction(&none, kernel("add")), CUDA_ERROR_INVALID_CONTEXT);
  CUdeviceptr managed = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(driver.cuLibraryGetManaged(&managed, &bytes, library, "shared_with_host"),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, 8u);
  // Parameter layouts can be queried only with a context.
  std::size_t offset = 0;
  std::size_t size = 0;
  EXPECT_EQ(driver.cuKernelGetParamInfo(kernel("add"), 1, &offset, &size),
            CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(driver.cuCtxPushCurrent_v2(popped), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuKernelGetParamInfo(kernel("add"), 1, &offset, &size), CUDA_SUCCESS);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(size, 8u);
  EXPECT_EQ(driver.cuKernelGetParamInfo(kernel("add"), 3, &offset, &size),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuKernelGetParamInfo(nullptr, 1, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

// Code is loaded at first use, so only then an invalid image is reported.
TEST_F(Library, AnInvalidLibraryIsRefusedAtItsFirstUse) {
  const std::pair<const char*, CUresult> all[] = {
      {"this is not a module", CUDA_ERROR_INVALID_IMAGE},
      {".version 7.0\n.bogus {", CUDA_ERROR_INVALID_PTX}};
  for (const auto& [code, answer] : all) {
    CUlibrary junk = nullptr;
    ASSERT_EQ(driver.cuLibraryLoadData(&junk, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    unsigned count = 7;
    EXPECT_EQ(driver.cuLibraryGetKernelCount(&count, junk), CUDA_SUCCESS);
    EXPECT_EQ(count, 0u);
    CUkernel none = nullptr;
    EXPECT_EQ(driver.cuLibraryGetKernel(&none, junk, "add"), answer);
    CUmodule module = nullptr;
    EXPECT_EQ(driver.cuLibraryGetModule(&module, junk), answer);
    EXPECT_EQ(driver.cuLibraryUnload(junk), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLibraryGetKernelCount(&count, junk), CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_F(Library, EachContextHasItsOwnFunctionsAndVariables) {
  const CUfunction here = function(kernel("add"));
  const CUdeviceptr counter_here = counter();
  EXPECT_EQ(function(kernel("add")), here);
  EXPECT_EQ(driver.cuMemsetD32_v2(counter_here, 3, 1), CUDA_SUCCESS);
  const other_context there;
  EXPECT_NE(function(kernel("add")), here);
  EXPECT_NE(counter(), counter_here);
  unsigned value = 0;
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(&value, counter(), 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 17u);
}

// The library's module in a context can be queried like any module, but is unloaded with the
// library.
TEST_F(Library, TheModuleOfALibraryEndsWithTheLibrary) {
  CUmodule m = nullptr;
  ASSERT_EQ(driver.cuLibraryGetModule(&m, library), CUDA_SUCCESS);
  CUmodule again = nullptr;
  EXPECT_EQ(driver.cuLibraryGetModule(&again, library), CUDA_SUCCESS);
  EXPECT_EQ(again, m);
  CUfunction add = nullptr;
  EXPECT_EQ(driver.cuModuleGetFunction(&add, m, "add"), CUDA_SUCCESS);
  EXPECT_EQ(add, function(kernel("add")));
  EXPECT_EQ(driver.cuModuleUnload(m), CUDA_ERROR_NOT_PERMITTED);
  const CUkernel ended = kernel("add");
  EXPECT_EQ(driver.cuLibraryUnload(std::exchange(library, nullptr)), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleGetFunction(&add, m, "add"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuKernelGetFunction(&add, ended), CUDA_ERROR_INVALID_HANDLE);
  const char* name = nullptr;
  EXPECT_EQ(driver.cuKernelGetName(&name, ended), CUDA_ERROR_INVALID_HANDLE);
}

// Destroying a context destroys its part of the library; the next context starts with the initial
// values of the variables.
TEST_F(Library, ALibraryOutlivesItsContexts) {
  {
    const other_context there;
    EXPECT_EQ(driver.cuMemsetD32_v2(counter(), 3, 1), CUDA_SUCCESS);
  }
  const CUdeviceptr here = counter();
  unsigned value = 0;
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(&value, here, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 17u);
}

// Managed and device variables are looked up by different calls.
TEST_F(Library, ManagedVariablesAreDistinguished) {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(driver.cuLibraryGetManaged(&address, &bytes, library, "shared_with_host"),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, 8u);
  unsigned managed = 0;
  EXPECT_EQ(driver.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address),
            CUDA_SUCCESS);
  EXPECT_EQ(managed, 1u);
  EXPECT_EQ(driver.cuLibraryGetManaged(&address, &bytes, library, "counter"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver.cuLibraryGetGlobal(&address, &bytes, library, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver.cuLibraryGetGlobal(nullptr, nullptr, library, "counter"),
            CUDA_ERROR_INVALID_VALUE);
  void* unified = nullptr;
  EXPECT_EQ(driver.cuLibraryGetUnifiedFunction(&unified, library, "add"), CUDA_ERROR_INVALID_VALUE);
}

// An attribute of a kernel applies in every context of the device, unless it is set on the function
// itself.
TEST_F(Library, AttributesOfAKernelApplyToItsFunctions) {
  constexpr auto shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  const CUkernel add = kernel("add");
  const CUfunction here = function(add);
  const auto of_function = [&](CUfunction f) {
    int value = 0;
    EXPECT_EQ(driver.cuFuncGetAttribute(&value, shared, f), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(driver.cuKernelSetAttribute(shared, 100, add, 0), CUDA_SUCCESS);
  EXPECT_EQ(of_function(here), 100);
  EXPECT_EQ(driver.cuFuncSetAttribute(here, shared, 200), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuKernelSetAttribute(shared, 300, add, 0), CUDA_SUCCESS);
  EXPECT_EQ(of_function(here), 200);
  int value = 0;
  EXPECT_EQ(driver.cuKernelGetAttribute(&value, shared, add, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 300);
  const other_context there;
  EXPECT_EQ(of_function(function(add)), 300);
  EXPECT_EQ(driver.cuKernelSetAttribute(shared, 300, add, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver.cuKernelSetCacheConfig(add, CU_FUNC_CACHE_PREFER_L1, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuKernelSetCacheConfig(add, static_cast<CUfunc_cache>(4), 0),
            CUDA_ERROR_INVALID_VALUE);
}

// Launches and occupancy queries accept a kernel for its function in the current context; function
// queries do not.
TEST_F(Library, OccupancyCallsAcceptAKernelAsAFunction) {
  const CUkernel reverse = kernel("reverse");
  int value = 0;
  EXPECT_EQ(driver.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS,
                                      reinterpret_cast<CUfunction>(reverse)),
            CUDA_ERROR_INVALID_HANDLE);
  int blocks = 0;
  EXPECT_EQ(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &blocks, reinterpret_cast<CUfunction>(reverse), 256, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(blocks, 8);
}

TEST_F(Library, AttributesAreSetPerDevice) {
  int devices = 0;
  ASSERT_EQ(driver.cuDeviceGetCount(&devices), CUDA_SUCCESS);
  if (devices < 2) GTEST_SKIP() << "one device";
  constexpr auto shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_EQ(driver.cuKernelSetAttribute(shared, 100, kernel("add"), 1), CUDA_SUCCESS);
  int value = 0;
  EXPECT_EQ(driver.cuKernelGetAttribute(&value, shared, kernel("add"), 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 48 * 1024);
  CUcontext there = nullptr;
  ASSERT_EQ(driver.cuCtxCreate_v4(&there, nullptr, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuFuncGetAttribute(&value, shared, function(kernel("add"))), CUDA_SUCCESS);
  EXPECT_EQ(value, 100);
  int ordinal = -1;
  EXPECT_EQ(driver.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, counter()),
            CUDA_SUCCESS);
  EXPECT_EQ(ordinal, 1);
  EXPECT_EQ(driver.cuCtxDestroy_v2(there), CUDA_SUCCESS);
}

// A library that runs out of memory while loading is not loaded, or not yet in that context.
TEST_F(Library, ALibraryWithoutMemoryIsNotLoaded) {
  for (int after = 0;; ++after) {
    CUlibrary other = nullptr;
    CUkernel add = nullptr;
    CUfunction its = nullptr;
    CUresult status = CUDA_SUCCESS;
    {
      const out_of_memory soon{after};
      status = load(other);
      if (status == CUDA_SUCCESS) status = driver.cuLibraryGetKernel(&add, other, "add");
      if (status == CUDA_SUCCESS) status = driver.cuKernelGetFunction(&its, add);
    }
    if (other != nullptr) {
      EXPECT_EQ(driver.cuLibraryUnload(other), CUDA_SUCCESS);
    }
    if (status == CUDA_SUCCESS) break;
    ASSERT_EQ(status, CUDA_ERROR_OUT_OF_MEMORY) << after;
  }
}

TEST_F(Library, ALibraryIsLoadedFromAFile) {
  CUlibrary other = nullptr;
  EXPECT_EQ(driver.cuLibraryLoadFromFile(&other, WEIR_IMAGE_NUMBERS, nullptr, nullptr, 0, nullptr,
                                         nullptr, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLibraryUnload(other), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLibraryUnload(other), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(
      driver.cuLibraryLoadFromFile(&other, "/nowhere", nullptr, nullptr, 0, nullptr, nullptr, 0),
      CUDA_ERROR_FILE_NOT_FOUND);
  CUlibraryOption unknown = static_cast<CUlibraryOption>(7);
  EXPECT_EQ(driver.cuLibraryLoadData(&other, numbers_image().data(), nullptr, nullptr, 0, &unknown,
                                     nullptr, 1),
            CUDA_ERROR_INVALID_VALUE);
  CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
  EXPECT_EQ(driver.cuLibraryLoadData(&other, numbers_image().data(), nullptr, nullptr, 0,
                                     &preserved, nullptr, 1),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLibraryUnload(other), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
