// SPDX-License-Identifier: Apache-2.0
// weir/vectors.h - the vector types with CUDA's sizes and alignments, and dim3.
#pragma once

#define WEIR_VECTORS(T, N, A2, A4)                                             \
  struct N##1 {                                                                \
    T x;                                                                       \
  };                                                                           \
  struct __attribute__((aligned(A2))) N##2 {                                   \
    T x, y;                                                                    \
  };                                                                           \
  struct N##3 {                                                                \
    T x, y, z;                                                                 \
  };                                                                           \
  struct __attribute__((aligned(A4))) N##4 {                                   \
    T x, y, z, w;                                                              \
  };                                                                           \
  WEIR_HD constexpr N##1 make_##N##1(T x) { return N##1 {x}; }                 \
  WEIR_HD constexpr N##2 make_##N##2(T x, T y) { return N##2 {x, y}; }         \
  WEIR_HD constexpr N##3 make_##N##3(T x, T y, T z) { return N##3 {x, y, z}; } \
  WEIR_HD constexpr N##4 make_##N##4(T x, T y, T z, T w) { return N##4 {x, y, z, w}; }

WEIR_VECTORS(signed char, char, 2, 4)
WEIR_VECTORS(unsigned char, uchar, 2, 4)
WEIR_VECTORS(short, short, 4, 8)
WEIR_VECTORS(unsigned short, ushort, 4, 8)
WEIR_VECTORS(int, int, 8, 16)
WEIR_VECTORS(unsigned, uint, 8, 16)
WEIR_VECTORS(long, long, 16, 16)
WEIR_VECTORS(unsigned long, ulong, 16, 16)
WEIR_VECTORS(long long, longlong, 16, 16)
WEIR_VECTORS(unsigned long long, ulonglong, 16, 16)
WEIR_VECTORS(float, float, 8, 16)
WEIR_VECTORS(double, double, 16, 16)
#undef WEIR_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned nx = 1, unsigned ny = 1, unsigned nz = 1) : x(nx), y(ny), z(nz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};

template <>
struct weir_plain<uint3> {
  enum { value = 1 };
};
template <>
struct weir_plain<dim3> {
  enum { value = 1 };
};
