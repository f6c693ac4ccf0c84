// SPDX-License-Identifier: Apache-2.0
// weir/narrowing.h - what the types of 16 bits have in common.
#pragma once

#define WEIR_HD_MEMBER inline __attribute__((always_inline))

// To float so that a further rounding to fewer bits is as if it were the only one: what is cut off leaves its trace in
// the last bit.
WEIR_HD float weir_to_odd(double d) {
  float f = (float)d;
  if ((double)f == d || d != d || __builtin_isinf(f)) return f;
  unsigned bits = weir_cast<unsigned>(f);
  if ((double)__builtin_fabsf(f) > __builtin_fabs(d)) --bits;
  return weir_cast<float>(bits | 1);
}
