// SPDX-License-Identifier: Apache-2.0
// tests/compile/maths_test.cpp - math functions, intrinsics and the 16-bit types.
#include <cmath>
#include <cstring>
#include <limits>

#include "compiled.hpp"

namespace weir::test {

class Maths : public Compiled {};

TEST_P(Maths, CudaMathFunctionsComputeTheirResults) {
  device_image image{made(R"(#include <math_constants.h>
extern "C" __global__ void f(float x, double y, double* out) {
  int k = 0;
  out[k++] = sinf(x) - sin(x);            out[k++] = __expf(x) - expf(x);
  out[k++] = rsqrtf(4.0f);                out[k++] = sinpif(0.5f) + cospi(1.0);
  out[k++] = normcdf(0.0) + normcdff(0);  out[k++] = normcdfinv(normcdf(1.25));
  out[k++] = erfinv(erf(0.75));           out[k++] = erfcinvf(erfcf(0.25f));
  out[k++] = exp10(2.0) + exp10f(1.0f);   out[k++] = __saturatef(2.0f) + __saturatef(-1.0f) + __saturatef(0.25f);
  out[k++] = fminf(1, CUDART_NAN_F) + fmax(CUDART_NAN, 2.0); out[k++] = max(1, 2u) + min(-1, 3) + max(1.5f, 1.0);
  out[k++] = norm3d(1, 2, 2) + rnorm3df(1, 2, 2) * 3; out[k++] = hypot(3.0f, 4.0f) + rhypot(3.0, 4.0) * 5;
  out[k++] = pow(2.0f, 3) + pow(2, 0.5) * 0 + powf(3, 2); out[k++] = abs(-2) + abs(-2.5f) + abs(-3ll) + fabs(-0.5);
  out[k++] = isnan(x) + isinf(y) + isfinite(x) + signbit(-x); out[k++] = cyl_bessel_i0(1.0);
  out[k++] = lrintf(2.5f) + llround(2.5) + floorf(-0.5f) + trunc(-1.5); out[k++] = erfcx(30.0);
  float s, c; sincosf(x, &s, &c);         out[k++] = s * s + c * c;
  out[k++] = fmaf(2, 3, 4) + fma(2.0, 3.0, 4.0) + fmodf(7, 4) + remainder(7.0, 4.0) + copysign(3.0, -0.0) + ldexp(1.0, 3) + cbrt(27.0);
})")};
  double out[22];
  image.launch("f", {}, 0.5f, 2.0, +out);
  const double expected[22] = {0,
                               0,
                               0.5,
                               0,
                               1,
                               1.25,
                               0.75,
                               0.25,
                               110,
                               1.25,
                               3,
                               2 - 1 + 1.5,
                               4,
                               6,
                               17,
                               8,
                               2,
                               1.2660658777520082,
                               2 + 3 - 1 - 1,
                               0.018795888861416751,
                               1,
                               10 + 10 + 3 - 1 - 3 + 8 + 3};
  for (int i = 0; i < 22; ++i)
    EXPECT_NEAR(out[i], expected[i], 2e-7 * (1 + std::fabs(expected[i]))) << i;
}

TEST_P(Maths, IntegerIntrinsicsAndCastsComputeTheirResults) {
  device_image image{made(R"(extern "C" __global__ void f(long long* out) {
  int k = 0;
  out[k++] = __popc(0xf0f0u) + __popcll(~0ull);  out[k++] = __clz(1) + __clz(0) + __clzll(1);
  out[k++] = __ffs(8) + __ffs(0) + __ffsll(1ll << 40); out[k++] = __brev(1u);
  out[k++] = (long long)__brevll(1);             out[k++] = __mulhi(1 << 20, 1 << 20) + __umulhi(~0u, 2);
  out[k++] = (long long)__umul64hi(~0ull, 4);    out[k++] = __byte_perm(0x33221100, 0x77665544, 0x7531);
  out[k++] = __byte_perm(0x80, 0, 0x8880);       out[k++] = __funnelshift_l(0x80000000u, 1, 1);
  out[k++] = __funnelshift_r(2, 1, 1);           out[k++] = __funnelshift_lc(5, 1, 40);
  out[k++] = __dp4a(0x01020304, 0x01010101, 5);  out[k++] = __dp4a(0xff, 0x7f, 0);
  out[k++] = __vadd4(0x00ff01ff, 0x01010101);    out[k++] = __vaddus4(0x00ff01ff, 0x01010101);
  out[k++] = __vmaxs2(0x0001ffff, 0x00020000);   out[k++] = __vcmpgtu4(0x02010305, 0x01020304);
  out[k++] = __hadd(3, 4) * 10 + __rhadd(3, 4);  out[k++] = __sad(-3, 4, 1);
  out[k++] = __float_as_int(1.0f);               out[k++] = (long long)__int_as_float(0x40000000);
  out[k++] = __double2hiint(1.0);                out[k++] = (long long)__hiloint2double(0x40080000, 0);
  out[k++] = __float2int_rn(2.5f) * 1000 + __float2int_rz(2.9f) * 100 + __float2int_ru(2.1f) * 10 + __float2int_rd(2.9f);
  out[k++] = __float2int_rz(1e20f);              out[k++] = __float2int_rz(__int_as_float(0x7fc00000));
  out[k++] = __float2uint_rz(-1.0f);             out[k++] = __double2int_rn(-1e300);
  out[k++] = __vimax3_s32(1, 7, 3);              out[k++] = (long long)__float2ull_rz(1e30f);
  out[k++] = __fns(0xf0, 0, 2);
})")};
  long long out[32];
  image.launch("f", {}, +out);
  const long long expected[32] = {8 + 64,
                                  31 + 32 + 63,
                                  4 + 0 + 41,
                                  0x80000000ll,
                                  std::numeric_limits<long long>::min(),
                                  256 + 1,
                                  3,
                                  0x77553311,
                                  0xffffff80ll,
                                  3,
                                  0x80000001ll,
                                  5,
                                  15,
                                  -127,
                                  0x01000200,
                                  0x01ff02ff,
                                  0x00020000,
                                  0xff0000ffll,
                                  34,
                                  8,
                                  0x3f800000,
                                  2,
                                  0x3ff00000,
                                  3,
                                  2232,
                                  0x7fffffff,
                                  0,
                                  0,
                                  std::numeric_limits<int>::min(),
                                  7,
                                  -1,
                                  5};
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], expected[i]) << i;
}

// Compares functions with a rounding mode with results of higher precision.
TEST_P(Maths, RoundedFormsRoundAsNamed) {
  device_image image{
      made(R"(extern "C" __global__ void f(const float* a, const float* b, float* out) {
  const int i = threadIdx.x;
  float x = a[i], y = b[i], *o = out + 20 * i;
  o[0] = __fadd_rd(x, y); o[1] = __fadd_ru(x, y); o[2] = __fadd_rz(x, y); o[3] = __fadd_rn(x, y);
  o[4] = __fmul_rd(x, y); o[5] = __fmul_ru(x, y); o[6] = __fmul_rz(x, y); o[7] = __fmul_rn(x, y);
  o[8] = __fdiv_rd(x, y); o[9] = __fdiv_ru(x, y); o[10] = __fdiv_rz(x, y); o[11] = __fdiv_rn(x, y);
  o[12] = __double2float_rd(x / 3.0); o[13] = __double2float_ru(x / 3.0); o[14] = __double2float_rz(x / 3.0);
  o[15] = __fmaf_rd(x, y, 1e-9f); o[16] = __fmaf_ru(x, y, 1e-9f);
  // Rounded by itself, so that a product less the same is nothing.
  o[17] = __fmul_rn(x, y) - __fmul_rn(x, y) + __fadd_rn(__fmul_rn(x, y), -__fmul_rn(x, y));
  o[18] = __int2float_rd(16777217); o[19] = __int2float_ru(16777217);
})")};
  std::vector<float> a(200), b(200), out(4000);
  unsigned seed = 7;
  const auto next = [&] {
    return static_cast<float>(static_cast<int>((seed = seed * 1664525 + 1013904223) >> 8) -
                              (1 << 23)) /
           65536.0f;
  };
  for (std::size_t i = 0; i < 200; ++i) a[i] = next(), b[i] = next();
  image.launch("f", {{1, 1, 1}, {200, 1, 1}}, a.data(), b.data(), out.data());
  const auto down = [](double d) {
    const auto f = static_cast<float>(d);
    return f > d ? std::nextafterf(f, -INFINITY) : f;
  };
  const auto up = [](double d) {
    const auto f = static_cast<float>(d);
    return f < d ? std::nextafterf(f, INFINITY) : f;
  };
  for (std::size_t i = 0; i < 200; ++i) {
    const double x = a[i], y = b[i], exact[4] = {x + y, x * y, x / y, x / 3};
    const float* const o = &out[20 * i];
    for (int k = 0; k < 4; ++k) {
      ASSERT_EQ(o[4 * k], down(exact[k])) << i << " " << k;
      ASSERT_EQ(o[4 * k + 1], up(exact[k])) << i << " " << k;
      ASSERT_EQ(o[4 * k + 2], exact[k] > 0 ? down(exact[k]) : up(exact[k])) << i << " " << k;
      if (k == 3) continue;
      ASSERT_EQ(o[4 * k + 3], static_cast<float>(exact[k])) << i << " " << k;
    }
    ASSERT_EQ(o[15], down(x * y + 1e-9f)) << i;
    ASSERT_EQ(o[16], up(x * y + 1e-9f)) << i;
    ASSERT_EQ(o[17], 0) << i;
    ASSERT_EQ(o[18], 16777216.0f);
    ASSERT_EQ(o[19], 16777218.0f);
  }
}

TEST_P(Maths, HalfAndBfloat16ComputeTheirResults) {
  device_image image{made(R"(#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void narrow(const float* in, unsigned short* h, unsigned short* b, float* back) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  h[i] = __half_as_ushort(__float2half(in[i]));
  b[i] = __bfloat16_as_ushort(__float2bfloat16(in[i]));
  back[i] = __half2float(__ushort_as_half(h[i]));
}
extern "C" __global__ void arithmetic(float* out) {
  __half a = 1.5f, b = __float2half(0.25f);
  int k = 0;
  out[k++] = float(a + b); out[k++] = float(a * b - a / b); out[k++] = a > b; out[k++] = float(__hfma(a, b, a));
  a += b; ++a; out[k++] = float(a);
  __half2 v = __floats2half2_rn(1, 2), w = __halves2half2(b, a);
  v = __hfma2(v, w, v); out[k++] = __low2float(v) + __high2float(v); out[k++] = __half22float2(v * w).y;
  out[k++] = float(hsqrt(__half(4))) + float(hexp2(__half(3.0))) + float(__habs(-a)) + float(__hmax(a, b));
  out[k++] = __half2int_rn(__half(2.5f)) + __half2ushort_rz(__half(2.75f));
  __nv_bfloat16 c = __float2bfloat16(3.0f), d = c * c;
  out[k++] = __bfloat162float(d + c); __nv_bfloat162 e = __halves2bfloat162(c, d); out[k++] = __bfloat1622float2(e + e).y;
  out[k++] = float(__float2half_rd(0.1f)) <= 0.1f && float(__float2half_ru(0.1f)) >= 0.1f;
  out[k++] = __hisnan(__half(0.0f) / __half(0.0f)); out[k++] = float(__half(70000.0f)) > 1e30f;
  __half_raw raw; raw.x = 0x3c00; __half one(raw); out[k++] = float(one++) * 10 + float(one);
  out[k++] = CUDART_INF_FP16 > CUDART_MAX_NORMAL_FP16 && CUDART_ONE_BF16 > CUDART_ZERO_BF16;
})")};
  // Every half converts back exactly; between two halves the nearer is taken, and the even one of
  // two equally near ones.
  std::vector<float> in(512), back(512);
  std::vector<unsigned short> h(512), b(512);
  const float special[] = {0,       -0.0f,      1,          65504,    65519.996f,
                           65520,   1e9f,       6e-8f,      2.98e-8f, 2.99e-8f,
                           6.1e-5f, 1.0004883f, 1.0014648f, 0.333f,   INFINITY};
  const unsigned short halves[] = {0, 0x8000, 0x3c00, 0x7bff, 0x7bff, 0x7c00, 0x7c00, 1,
                                   0, 1,      0x3ff,  0x3c00, 0x3c02, 0x3554, 0x7c00};
  const unsigned short bfloats[] = {0,      0x8000, 0x3f80, 0x4780, 0x4780, 0x4780, 0x4e6e, 0x3381,
                                    0x3300, 0x3300, 0x3880, 0x3f80, 0x3f80, 0x3eaa, 0x7f80};
  std::copy(std::begin(special), std::end(special), in.begin());
  image.launch("narrow", {{4, 1, 1}, {128, 1, 1}}, in.data(), h.data(), b.data(), back.data());
  for (std::size_t i = 0; i < std::size(special); ++i) {
    EXPECT_EQ(h[i], halves[i]) << special[i];
    EXPECT_EQ(b[i], bfloats[i]) << special[i];
  }
  EXPECT_EQ(back[3], 65504);
  EXPECT_EQ(back[7], 0x1p-24f);
  float out[16];
  image.launch("arithmetic", {}, +out);
  const float expected[16] = {
      1.75f, 0.375f - 6, 1, 1.875f, 2.75f, 1.25f + 7.5f, 20.625f, 2 + 8 + 2.75f + 2.75f, 4,
      12,    18,         1, 1,      1,     12,           1};
  for (int i = 0; i < 16; ++i) EXPECT_EQ(out[i], expected[i]) << i;
}

TEST_P(Maths, TheStandardLibraryMayBeIncluded) {
  device_image image{made(R"(#include <cmath>
#include <cstdint>
#include <cstdio>
#include <algorithm>
#include <cuda/std/array>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda_runtime.h>
using namespace std;
extern "C" __global__ void f(double* out) {
  cuda::std::array<int, 3> a{1, 2, 3};
  auto t = cuda::std::make_tuple(1, 2.5f);
  static_assert(cuda::std::is_same<decltype(out), double*>::value, "");
  out[0] = std::sin(0.0f) + sin(0.0) + std::max(a[1], 1) + std::abs(-1.5f) + cuda::std::get<1>(t) + (uint8_t)257 + isnan(out[0]) + std::pow(2.0f, 2);
  out[1] = cuda::std::numeric_limits<float>::max() > 1e38f ? M_PI : 0;
})")};
  double out[2] = {};
  image.launch("f", {}, +out);
  EXPECT_EQ(out[0], 2 + 1.5 + 2.5 + 1 + 4);
  EXPECT_DOUBLE_EQ(out[1], 3.14159265358979323846);
}

WEIR_WITH_EVERY_COMPILER(Maths);

}  // namespace weir::test
