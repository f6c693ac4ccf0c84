// SPDX-License-Identifier: Apache-2.0
// cuda_bf16.h - __nv_bfloat16 and __nv_bfloat162.
#pragma once

#include <weir/narrowing.h>

WEIR_HD float weir_from_bfloat16(unsigned short bits) { return weir_cast<float>((unsigned)bits << 16); }
WEIR_HD unsigned short weir_to_bfloat16(float f) {
  const unsigned bits = weir_cast<unsigned>(f);
  return f != f ? 0x7fff : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat162_raw {
  unsigned short x, y;
};

#define WEIR_T __nv_bfloat16
#define WEIR_T2 __nv_bfloat162
#define WEIR_N bfloat16
#define WEIR_N2 bfloat162
#define WEIR_1TO bfloat16
#define WEIR_2TO bfloat162
#define WEIR_WIDEN weir_from_bfloat16
#define WEIR_NARROW weir_to_bfloat16
#define WEIR_RAW __nv_bfloat16_raw
#define WEIR_RAW2 __nv_bfloat162_raw
#include <weir/narrow.h>

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80)
