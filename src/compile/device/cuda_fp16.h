// SPDX-License-Identifier: Apache-2.0
// cuda_fp16.h - __half and __half2.
#pragma once

#include <weir/narrowing.h>

#if defined(__F16C__)
typedef float weir_4_floats __attribute__((vector_size(16)));
typedef short weir_8_shorts __attribute__((vector_size(16)));
WEIR_HD float weir_from_half(unsigned short bits) { return __builtin_ia32_vcvtph2ps((weir_8_shorts){(short)bits})[0]; }
WEIR_HD unsigned short weir_to_half(float f) {
  return (unsigned short)__builtin_ia32_vcvtps2ph((weir_4_floats){f, 0, 0, 0}, 0)[0];
}
#else
WEIR_HD float weir_from_half(unsigned short bits) {
  const unsigned sign = (unsigned)(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) return weir_cast<float>(sign | 0x7f800000 | rest << 13);
  const float f = weir_cast<float>(rest << 13) * 0x1p112f;  // the bias of the exponent, and numbers below it
  return weir_cast<float>(sign | weir_cast<unsigned>(f));
}
WEIR_HD unsigned short weir_to_half(float f) {
  const unsigned bits = weir_cast<unsigned>(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return (unsigned short)(sign | 0x7fff);
  if (rest >= 0x477ff000) return (unsigned short)(sign | 0x7c00);
  if (rest < 0x38800000) {  // below the smallest normal number: the addition rounds
    const float r = weir_cast<float>(rest) + 0.5f;
    return (unsigned short)(sign | (weir_cast<unsigned>(r) - 0x3f000000));
  }
  return (unsigned short)(sign | ((rest + 0xfff + (rest >> 13 & 1)) - 0x38000000) >> 13);
}
#endif

struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};

#define WEIR_T __half
#define WEIR_T2 __half2
#define WEIR_N half
#define WEIR_N2 half2
#define WEIR_1TO half
#define WEIR_2TO half2
#define WEIR_WIDEN weir_from_half
#define WEIR_NARROW weir_to_half
#define WEIR_RAW __half_raw
#define WEIR_RAW2 __half2_raw
#include <weir/narrow.h>

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00)
