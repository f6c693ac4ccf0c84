// SPDX-License-Identifier: Apache-2.0
// tests/compile/unsupported_test.cpp - errors for unsupported features, with the user's file and
// line.
#include "compiled.hpp"

namespace weir::test {

class Unsupported : public Compiled {};

TEST_P(Unsupported, AnErrorNamesTheUnsupportedFeatureAndItsLine) {
  const struct {
    const char *source, *message;
  } cases[] = {
      {"__global__ void k(int* x) {\n  asm(\"mov.u32 %0, %laneid;\" : \"=r\"(*x));\n}",
       "program.cu:2: error: inline PTX assembly is not supported"},
      {"__global__ void k() {}\n__global__ void p() {\n k<<<1, 1>>>();\n}",
       "program.cu:3: error: <<<...>>> is not supported"},
      {"__global__ void k(cudaTextureObject_t t, float* x) {\n *x = tex2D<float>(t, 0, 0); }",
       "program.cu:1: error: cudaTextureObject_t: textures and surfaces are not supported"},
      {"\n\ntexture<float> t;",
       "program.cu:3: error: texture: textures and surfaces are not supported"},
      {"namespace wmma {}\n__global__ void k() { wmma::x(); }",
       "program.cu:2: error: wmma: tensor cores (wmma) are not supported"},
      {"__global__ void k() {\n  try { } catch (int) { }\n}",
       "program.cu:2: error: try: exceptions are not supported"},
      {"__global__ void k() { cudaDeviceSynchronize(); }",
       "program.cu:1: error: cudaDeviceSynchronize: launches and the runtime API"},
      {"#include <mma.h>\n",
       "<mma.h>: tensor cores (wmma) are not supported on the embedded device"},
      {"#include <curand_kernel.h>\n",
       "<curand_kernel.h>: the random numbers of cuRAND are not supported"},
      {"#include <cub/cub.cuh>\n", "CUB is not supported"},
      {"#include <cuda/barrier>\n", "barrier objects are not supported"},
      {"\nthread_local int x;",
       "program.cu:2: error: thread_local: thread_local variables are not supported"},
  };
  for (const auto& c : cases) {
    const std::string log = refused(c.source);
    EXPECT_NE(log.find(c.message), std::string::npos) << c.source << "\n" << log;
  }
  // The first constructor would have to run, the second would not.
  const std::string log = refused("struct s { int x; __device__ s(); };\n__device__ s object;\n");
  EXPECT_NE(log.find("program.cu:2:"), std::string::npos) << log;
  made("struct s { int x; constexpr s() : x(3) {} };\n__device__ s object;\n");
}

TEST_P(Unsupported, ACompilerFenceIsNotPtx) {
  made("__global__ void k() { asm volatile(\"\" ::: \"memory\"); }");
}

TEST_P(Unsupported, NamesThatResembleKeywordsAreAllowed) {
  made(
      "struct texture { int surface; };\n__global__ void k(texture t, int* x) { *x = t.surface << "
      "2 << 1; int catcher "
      "= 1; *x += catcher; }");
}

WEIR_WITH_EVERY_COMPILER(Unsupported);

}  // namespace weir::test
