// SPDX-License-Identifier: Apache-2.0
// function_test.cpp - functions: names, parameters, attributes.
#include "image_fixture.hpp"

namespace weir::embedded {
namespace {

using Function = memory_test;

int attribute(CUfunction kernel_function, CUfunction_attribute which) {
  int value = -7;
  EXPECT_EQ(driver.cuFuncGetAttribute(&value, which, kernel_function), CUDA_SUCCESS) << which;
  return value;
}

TEST_F(Function, AFunctionHasItsNameAndItsModule) {
  const test_module m;
  const char* name = nullptr;
  EXPECT_EQ(driver.cuFuncGetName(&name, m.function("reverse")), CUDA_SUCCESS);
  EXPECT_STREQ(name, "reverse");
  CUmodule module_handle = nullptr;
  EXPECT_EQ(driver.cuFuncGetModule(&module_handle, m.function("reverse")), CUDA_SUCCESS);
  EXPECT_EQ(module_handle, m);
  EXPECT_EQ(driver.cuFuncGetName(&name, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuFuncGetName(nullptr, m.function("add")), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Function, AFunctionHasItsParameters) {
  const test_module m;
  const CUfunction add = m.function("add");
  std::size_t offset = 0;
  std::size_t size = 0;
  EXPECT_EQ(driver.cuFuncGetParamInfo(add, 2, &offset, &size), CUDA_SUCCESS);
  EXPECT_EQ(offset, 16u);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(driver.cuFuncGetParamInfo(add, 1, &offset, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(driver.cuFuncGetParamInfo(add, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuFuncGetParamInfo(add, 0, nullptr, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuFuncGetParamInfo(nullptr, 0, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Function, AFunctionReturnsItsCompiledAttributes) {
  const test_module m;
  const CUfunction reverse = m.function("reverse");
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 256);
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 1024);
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES), 64);
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 64);
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_NUM_REGS), 32);
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_PTX_VERSION), 90);
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_BINARY_VERSION), 90);
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA), 0);
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 48 * 1024 - 1024);
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), -1);
  EXPECT_EQ(attribute(reverse, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 0);
  EXPECT_EQ(attribute(m.function("in_cluster"), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
  EXPECT_EQ(attribute(m.function("in_cluster"), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH), 1);
  int value = 0;
  EXPECT_EQ(driver.cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(16), reverse),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, reverse),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
}

// Static and dynamic shared memory together are limited by the opt-in maximum of a block.
TEST_F(Function, AFunctionTakesAllSharedMemoryOfABlock) {
  const test_module m;
  const CUfunction reverse = m.function("reverse");
  constexpr auto shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_EQ(driver.cuFuncSetAttribute(reverse, shared, 226 * 1024), CUDA_SUCCESS);
  EXPECT_EQ(attribute(reverse, shared), 226 * 1024);
  EXPECT_EQ(driver.cuFuncSetAttribute(reverse, shared, 226 * 1024 + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuFuncSetAttribute(reverse, shared, -1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attribute(reverse, shared), 226 * 1024);
  EXPECT_EQ(attribute(m.function("add"), shared), 48 * 1024);
}

TEST_F(Function, ReadOnlyAttributesAreRefused) {
  const test_module m;
  const CUfunction add = m.function("add");
  for (const auto which :
       {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET}) {
    EXPECT_EQ(driver.cuFuncSetAttribute(add, which, 1), CUDA_ERROR_INVALID_VALUE) << which;
  }
  constexpr auto carveout = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  EXPECT_EQ(driver.cuFuncSetAttribute(add, carveout, 50), CUDA_SUCCESS);
  EXPECT_EQ(attribute(add, carveout), 50);
  EXPECT_EQ(driver.cuFuncSetAttribute(add, carveout, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuFuncSetAttribute(add, carveout, -2), CUDA_ERROR_INVALID_VALUE);
  constexpr auto width = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
  EXPECT_EQ(driver.cuFuncSetAttribute(m.function("in_cluster"), width, 4),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuFuncSetAttribute(add, width, 4), CUDA_SUCCESS);
  EXPECT_EQ(attribute(add, width), 4);
}

// Attributes set on a function end with its module.
TEST_F(Function, AFunctionOfALaterModuleHasDefaultAttributes) {
  constexpr auto carveout = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  {
    const test_module m;
    EXPECT_EQ(driver.cuFuncSetAttribute(m.function("add"), carveout, 50), CUDA_SUCCESS);
  }
  const test_module m;
  EXPECT_EQ(attribute(m.function("add"), carveout), -1);
}

// A function that was only enumerated is not loaded, and some of its attributes are unknown.
TEST_F(Function, AFunctionIsLoadedOnRequest) {
  const test_module m;
  CUfunction add = nullptr;
  ASSERT_EQ(driver.cuModuleEnumerateFunctions(&add, 1, m), CUDA_SUCCESS);
  CUmoduleLoadingMode mode{};
  ASSERT_EQ(driver.cuModuleGetLoadingMode(&mode), CUDA_SUCCESS);
  CUfunctionLoadingState state{};
  EXPECT_EQ(driver.cuFuncIsLoaded(&state, add), CUDA_SUCCESS);
  if (mode == CU_MODULE_EAGER_LOADING) {
    EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_LOADED);
    return;
  }
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_UNLOADED);
  int value = 0;
  EXPECT_EQ(driver.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add),
            CUDA_ERROR_FUNCTION_NOT_LOADED);
  EXPECT_EQ(attribute(add, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
  EXPECT_EQ(driver.cuFuncLoad(add), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuFuncIsLoaded(&state, add), CUDA_SUCCESS);
  EXPECT_EQ(state, CU_FUNCTION_LOADING_STATE_LOADED);
  EXPECT_EQ(attribute(add, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
  EXPECT_EQ(driver.cuFuncLoad(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuFuncIsLoaded(nullptr, add), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Function, AFunctionTakesValidPreferencesOnly) {
  const test_module m;
  const CUfunction add = m.function("add");
  EXPECT_EQ(driver.cuFuncSetCacheConfig(add, CU_FUNC_CACHE_PREFER_EQUAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuFuncSetCacheConfig(add, static_cast<CUfunc_cache>(4)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuFuncSetSharedMemConfig(add, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuFuncSetSharedMemConfig(add, static_cast<CUsharedconfig>(3)),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace weir::embedded
