// cuda_bf16.h - __nv_bfloat16 and __nv_bfloat162.
#pragma once

#include <weir/narrowing.h>

WEIR_HD float weir_from_bfloat16(unsigned short bits) { return weir_cast<float>((unsigned)bits << 16); }
WEIR_HD unsigned short weir_to_bfloat16(float f) {
  const unsigned bits = weir_cast<unsigned>(f);
  return f != f ? 0x7fff : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define WEIR_T __nv_bfloat16
#define WEIR_T2 __nv_bfloat162
#define WEIR_N bfloat16
#define WEIR_N2 bfloat162
#define WEIR_1TO bfloat16
#define WEIR_2TO bfloat162
#define WEIR_WIDEN weir_from_bfloat16
#define WEIR_NARROW weir_to_bfloat16
#include <weir/narrow.h>
#undef WEIR_T
#undef WEIR_T2
#undef WEIR_N
#undef WEIR_N2
#undef WEIR_1TO
#undef WEIR_2TO
#undef WEIR_WIDEN
#undef WEIR_NARROW

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
