// SPDX-License-Identifier: Apache-2.0
// tests/compile/scanner_test.cpp - what the scanner finds in tokens, without a compiler.
#include "compile/host/scanner.hpp"

#include <gtest/gtest.h>

#include "compile/host/token.hpp"

namespace weir::test {

using namespace compile;

TEST(Tokens, TokensAreThoseOfTheUserWithTheirLines) {
  const std::string source =
      "# 0 \"a.cu\"\n# 1 \"/usr/include/x.h\" 1 3 4\nint hidden;\n# 5 \"a.cu\" 2\nfloat x = "
      "1.5e+3f;\n"
      "# 1 \"b.h\" 1\n#pragma unroll 4\nchar c = '\\'', *s = \"a\\\"b\", *r = R\"(x\n\"y)\";\nint "
      "z;\n# 9 \"a.cu\" 3 "
      "4\nlast";
  const token_list list = tokens_of(source);
  std::string text;
  for (const token& t : list.tokens) text += std::string(t.text) + "|";
  EXPECT_EQ(text,
            "float|x|=|1.5e+3f|;|#pragma unroll "
            "4|char|c|=|'\\''|,|*|s|=|\"a\\\"b\"|,|*|r|=|R\"(x\n\"y)\"|;|int|z|;|last|");
  EXPECT_EQ(list.tokens[0].line, 5u);
  EXPECT_EQ(list.files[list.tokens[0].file], "a.cu");
  EXPECT_EQ(list.tokens[5].line, 1u);
  EXPECT_EQ(list.files[list.tokens[5].file], "b.h");
  EXPECT_EQ(list.tokens[21].line, 4u);  // int z, behind a two-line string
  EXPECT_EQ(list.tokens.back().line, 9u);
  EXPECT_EQ(source.substr(list.tokens[3].offset, 8), "1.5e+3f;");
}

scan_result scanned(const std::string& source) { return scan(tokens_of(source)); }

TEST(Scanner, KernelsAreFoundInAnyScope) {
  const scan_result r = scanned(R"(namespace a::b { inline namespace c { namespace {
__global__ void __launch_bounds__(64) first(int* x, float y = (1 < 2) ? 1.0f : 2.0f) { if (x) { } }
}}}
extern "C" { __global__ void second() {} }
extern "C" __attribute__((used)) __global__ void third(void (*f)(int)) {}
template <int N, class T = int> __global__ static void fourth(T (&x)[N]) {}
template <> __global__ void fourth<3, int>(int (&x)[3]) {}
template __global__ void fourth<4>(int (&)[4]);
__global__ void declared(int);
class holder { int x; holder() : x{1}, y(2) { } int y; void method() {} };
__device__ auto lambda = [] { return 1; };
struct { int x; } object = {1};
enum class e : int { a, b };
using alias = int;
__global__ auto fifth() -> void {}
)");
  std::string text;
  for (const kernel_text& k : r.kernels)
    text += k.scope + k.name + (k.arguments.empty() ? "" : "<>") +
            (k.is_template ? " template" : "") + (k.instantiation ? " instantiation" : "") + "\n";
  EXPECT_EQ(
      text,
      "a::b::c::first\nsecond\nthird\nfourth template\nfourth<>\nfourth<> instantiation\nfifth\n");
  EXPECT_EQ(r.kernels[3].template_parameters, (std::vector<std::string>{"N", "T"}));
}

TEST(Scanner, VariablesAreFound) {
  const scan_result r = scanned(R"(__device__ int a, b[4] = {1, 2}, *c = &a;
namespace n { static __constant__ float table[] = {1, 2}; }
__device__ cuda::atomic<int, cuda::scope> counter;
__managed__ __device__ double m{1.0};
__device__ int function(int x);
__device__ void (*pointer)(int);
extern __device__ int elsewhere;
extern "C" __device__ int here = 1;
struct s { int member; };
__device__ __attribute__((aligned(16))) s object;
)");
  std::string text;
  for (const variable_text& v : r.variables)
    text += v.scope + v.name +
            (v.memory == memory_kind::constant  ? " c"
             : v.memory == memory_kind::managed ? " m"
                                                : " d") +
            "\n";
  EXPECT_EQ(text, "a d\nb d\nc d\nn::table c\ncounter d\nm m\npointer d\nhere d\nobject d\n");
}

TEST(Scanner, KernelsThatMayWaitAreFoundByName) {
  const scan_result r = scanned(R"(__device__ void leaf() { __syncthreads(); }
struct s { void m() { leaf(); } };
auto f = [] { s().m(); };
void quiet() {}
__global__ void yes() { f(); }
__global__ void no() { quiet(); }
__global__ void own() { __shfl_sync(0, 1, 2); }
)");
  ASSERT_EQ(r.kernels.size(), 3u);
  EXPECT_TRUE(r.kernels[0].waits);
  EXPECT_FALSE(r.kernels[1].waits);
  EXPECT_TRUE(r.kernels[2].waits);
  // Calls of operators have no name to follow.
  EXPECT_TRUE(
      scanned("int operator+(s a, s b) { __syncwarp(); } __global__ void k() {}").kernels[0].waits);
  // Calls through pointers have none either; the host may have copied the pointer from a variable.
  EXPECT_TRUE(scanned("__device__ int wait(int x) { return __shfl_sync(~0u, x, 0); }\n__device__ "
                      "int (*chosen)(int) = wait;\n"
                      "__global__ void k(int (*f)(int), int* x) { x[0] = f(x[0]); }")
                  .kernels[0]
                  .waits);
  // Common names count as waiting only if cooperative groups are included.
  EXPECT_FALSE(scanned("__global__ void k(int* any) { any[0] = 1; }").kernels[0].waits);
  EXPECT_TRUE(
      scanned(
          "# 1 \"cooperative_groups.h\" 1 3\n# 1 \"a.cu\" 2\n__global__ void k(G g) { g.sync(); }")
          .kernels[0]
          .waits);
}

// Threads poll memory until another thread has written it.
TEST(Scanner, SpinLoopsCountAsWaiting) {
  const auto waits = [](const std::string& body, const std::string& parameters = "int* p") {
    return scanned("__global__ void k(" + parameters + ") { " + body + " }").kernels[0].waits;
  };
  EXPECT_TRUE(waits("while (atomicCAS(p, 0, 1) != 0);"));
  EXPECT_TRUE(waits("while (atomicCAS(p, 0, 1) != 0) {}"));
  EXPECT_TRUE(waits("do {} while (atomicAdd(p, 0) == 0);"));
  EXPECT_TRUE(waits("while (*p == 0) { x++; }", "volatile int* p"));
  EXPECT_TRUE(waits("volatile int* q = p; for (;;) { if (*q) break; }"));
  EXPECT_TRUE(waits("while (true) { if (atomicExch(p, 1) == 0) break; }"));
  EXPECT_TRUE(
      scanned("void look(volatile int* p) { while (!*p) ++*p; } __global__ void k() { look(0); }")
          .kernels[0]
          .waits);
  EXPECT_FALSE(
      waits("int old = *p, seen; do { seen = old; old = atomicCAS(p, seen, seen + 1); } while "
            "(seen != old);"));
  EXPECT_FALSE(waits("while (*p > 0) { --*p; }"));
  EXPECT_FALSE(waits("int rounds = 0; while (atomicAdd(p, 0) == 0) ++rounds;"));
  EXPECT_TRUE(waits("int rounds = 0; while (atomicAdd(p, 0) == 0) { __nanosleep(9); ++rounds; }"));
  EXPECT_FALSE(waits("for (int i = 0; i < 9; ++i) p[i] = i;", "volatile int* p"));
  EXPECT_FALSE(waits("for (int i = 0; ; ++i) { if (i > p[0]) break; }"));
}

TEST(Scanner, DynamicSharedMemoryIsFound) {
  const scan_result r = scanned(R"(extern __shared__ float file_scope[];
__global__ void k() { extern __shared__ __align__(16) unsigned char s[]; __shared__ int fixed[4]; extern __shared__ int rows[][8]; }
)");
  ASSERT_EQ(r.dynamic.size(), 3u);
  EXPECT_EQ(r.dynamic[0].name, "file_scope");
  EXPECT_FALSE(r.dynamic[0].in_function);
  EXPECT_EQ(r.dynamic[1].name, "s");
  EXPECT_EQ(r.dynamic[2].name, "rows");
  EXPECT_TRUE(r.dynamic[2].in_function);
}

TEST(Scanner, InvalidProgramsAreScanned) {
  for (const char* const text :
       {"", "}", "{", "template", "template <", "__global__", "__global__ void",
        "__global__ void k(", "extern \"C\"", "namespace", "namespace {", "operator", "struct {",
        "__device__ int a[", "extern __shared__ x", "#", "R\"(", "'"})
    (void)scanned(text);
}

}  // namespace weir::test
