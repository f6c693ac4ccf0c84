// module_test.cpp - modules: loading, functions, variables, unloading.
#include "image_fixture.hpp"

#include <cstdint>

#include "embedded/model/address_map.hpp"

namespace weir::embedded {
namespace {

using Module = memory_test;

std::uint32_t read_word(CUdeviceptr from) {
  std::uint32_t value = 0;
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(&value, from, sizeof value), CUDA_SUCCESS);
  return value;
}

// A function has one handle, however often it is asked for; there is none of a name that the module does not have.
TEST_F(Module, GivesAFunctionOneHandle) {
  const test_module m;
  const CUfunction add = m.function("add");
  EXPECT_EQ(m.function("add"), add);
  EXPECT_NE(m.function("count"), add);
  CUfunction none = nullptr;
  EXPECT_EQ(driver.cuModuleGetFunction(&none, m, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver.cuModuleGetFunction(nullptr, m, "add"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuModuleGetFunction(&none, m, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// Every load has variables of its own.
TEST_F(Module, HasVariablesOfItsOwn) {
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

// What a module was is gone with it: handles, and the memory of its variables.
TEST_F(Module, EndsWithFunctionsAndVariables) {
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
}

}  // namespace
}  // namespace weir::embedded
