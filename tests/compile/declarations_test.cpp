// SPDX-License-Identifier: Apache-2.0
// tests/compile/declarations_test.cpp - the ways in which sources declare device functions and
// variables.
#include "compiled.hpp"

namespace weir::test {

class Declarations : public Compiled {};

// __forceinline__ implies inline, and so may another specifier of the declaration.
TEST_P(Declarations, InlineFunctionsTakeSpecifiersInAnyOrder) {
  device_image image{made(R"(inline __device__ __forceinline__ int a() { return 1; }
__device__ __forceinline__ inline int b() { return 2; }
__forceinline__ __device__ constexpr int c() { return 4; }
template <class T> inline __host__ __device__ __forceinline__ T d(T x) { return x; }
struct s { __device__ __forceinline__ int e() const { return 16; } __forceinline__ __device__ inline static int f() { return 32; } };
static __device__ __inline__ __forceinline__ int g() { return 64; }
extern "C" __global__ void all(int* x) { *x = a() + b() + c() + d(8) + s().e() + s::f() + g(); })")};
  int x = 0;
  image.launch("all", {}, &x);
  EXPECT_EQ(x, 127);
}

TEST_P(Declarations, DeclaredVariablesAreInTheTable) {
  device_image image{made(R"(struct pair { int a, b; };
struct point { int x, y; __host__ __device__ constexpr point(int x, int y) : x(x), y(y) {} };
__device__ constexpr float steps[3] = {1, 2, 3};
constexpr __device__ int limit = 5;
__constant__ constexpr int fixed = 4;
__device__ struct { int a; float b; } unnamed;
__device__ struct named { int a; float b; } one, more[2];
__device__ pair plain, several[3];
__constant__ pair kept, initialized = {1, 2};
__managed__ pair shared_with_the_host;
__device__ point at(3, 4);
__device__ point beside{5, 6};
__device__ int declared(int a);
__device__ int declared(int a) { return a; }
extern "C" __global__ void all(float* x) {
  unnamed.a = 10; one.a = 20; more[1].b = 30; plain.b = 40; several[2].a = 50; shared_with_the_host.a = 60;
  x[0] = steps[2] + limit + fixed + initialized.b + kept.a + at.y + beside.x + declared(7);
})")};
  float x = 0;
  image.launch("all", {}, &x);
  EXPECT_EQ(x, 3 + 5 + 4 + 2 + 0 + 4 + 5 + 7);
  const auto value = [&](const char* name, std::size_t index) {
    return static_cast<const int*>(image.variable(name).address)[index];
  };
  EXPECT_EQ(value("unnamed", 0), 10);
  EXPECT_EQ(value("one", 0), 20);
  EXPECT_EQ(image.variable("more").bytes, 16u);
  EXPECT_EQ(value("plain", 1), 40);
  EXPECT_EQ(value("several", 4), 50);
  EXPECT_EQ(value("shared_with_the_host", 0), 60);
  EXPECT_EQ(value("initialized", 0), 1);
  EXPECT_EQ(value("at", 0), 3);
  EXPECT_EQ(value("beside", 1), 6);
  EXPECT_EQ(image.variable("kept").bytes, 8u);
}

// No constructor runs for device variables.
TEST_P(Declarations, VariablesWithDynamicInitializersAreRefused) {
  const std::string log = refused(
      "struct counted { int n; __device__ counted() : n(next()) {} static __device__ int next(); "
      "};\n"
      "__device__ counted one;\n"
      "extern \"C\" __global__ void k() {}\n");
  EXPECT_NE(log.find("program.cu:2:"), log.npos) << log;
}

WEIR_WITH_EVERY_COMPILER(Declarations);

}  // namespace weir::test
