// SPDX-License-Identifier: Apache-2.0
// weir/casts.h - bits as another type, and conversions with a rounding. They saturate and take NaN to 0, as a GPU does.
#pragma once

WEIR_HD int __float_as_int(float x) { return weir_cast<int>(x); }
WEIR_HD unsigned __float_as_uint(float x) { return weir_cast<unsigned>(x); }
WEIR_HD float __int_as_float(int x) { return weir_cast<float>(x); }
WEIR_HD float __uint_as_float(unsigned x) { return weir_cast<float>(x); }
WEIR_HD long long __double_as_longlong(double x) { return weir_cast<long long>(x); }
WEIR_HD double __longlong_as_double(long long x) { return weir_cast<double>(x); }
WEIR_HD int __double2hiint(double x) { return (int)(weir_cast<unsigned long long>(x) >> 32); }
WEIR_HD int __double2loint(double x) { return (int)weir_cast<unsigned long long>(x); }
WEIR_HD double __hiloint2double(int hi, int lo) {
  return weir_cast<double>((unsigned long long)(unsigned)hi << 32 | (unsigned)lo);
}

// To an integer: `whole` is already whole.
template <class I, class F>
WEIR_HD I weir_saturate(F whole) {
  constexpr bool is_signed = I(-1) < I(0);
  constexpr unsigned bits = sizeof(I) * 8 - is_signed;
  constexpr F limit = F(1ull << (bits - 1)) * F(2);
  constexpr I most = I((((1ull << (bits - 1)) - 1) << 1) + 1);
  constexpr I least = is_signed ? I(-most - 1) : I(0);
  if (whole != whole) return sizeof(I) == 8 ? I(1ull << 63) : I(0);
  return whole >= limit ? most : whole <= F(least) ? least : I(whole);
}
#define WEIR_TO_INTEGER(F, f, I, i, s)                                                \
  WEIR_HD I __##f##2##i##_rn(F x) { return weir_saturate<I>(__builtin_rint##s(x)); }  \
  WEIR_HD I __##f##2##i##_rz(F x) { return weir_saturate<I>(__builtin_trunc##s(x)); } \
  WEIR_HD I __##f##2##i##_ru(F x) { return weir_saturate<I>(__builtin_ceil##s(x)); }  \
  WEIR_HD I __##f##2##i##_rd(F x) { return weir_saturate<I>(__builtin_floor##s(x)); }
WEIR_TO_INTEGER(float, float, int, int, f)
WEIR_TO_INTEGER(float, float, unsigned, uint, f)
WEIR_TO_INTEGER(float, float, long long, ll, f)
WEIR_TO_INTEGER(float, float, unsigned long long, ull, f)
WEIR_TO_INTEGER(double, double, int, int, )
WEIR_TO_INTEGER(double, double, unsigned, uint, )
WEIR_TO_INTEGER(double, double, long long, ll, )
WEIR_TO_INTEGER(double, double, unsigned long long, ull, )
#undef WEIR_TO_INTEGER

// The neighbours of a number, for roundings that are not to nearest.
#define WEIR_NEXT(F, U)                                                                               \
  WEIR_HD F weir_up(F x) {                                                                            \
    if (x != x || x == __builtin_inff()) return x;                                                    \
    const U bits = weir_cast<U>(x);                                                                   \
    return x == 0 ? weir_cast<F>((U)1) : weir_cast<F>(x > 0 ? bits + 1 : bits - 1);                   \
  }                                                                                                   \
  WEIR_HD F weir_down(F x) { return -weir_up(-x); }                                                   \
  /* `nearest` is a result rounded to nearest, `error` the exact result less it. */                   \
  WEIR_HD F weir_toward_up(F nearest, F error) { return error > 0 ? weir_up(nearest) : nearest; }     \
  WEIR_HD F weir_toward_down(F nearest, F error) { return error < 0 ? weir_down(nearest) : nearest; } \
  WEIR_HD F weir_toward_zero(F nearest, F error) {                                                    \
    return nearest > 0 ? weir_toward_down(nearest, error) : weir_toward_up(nearest, error);           \
  }
WEIR_NEXT(float, unsigned)
WEIR_NEXT(double, unsigned long long)
#undef WEIR_NEXT

// From one floating type or an integer to a narrower floating type; the error is told exactly by `wide`.
#define WEIR_TO_FLOAT(name, From, To, Wide)                       \
  WEIR_HD To name##_rn(From x) { return (To)x; }                  \
  WEIR_HD To name##_rz(From x) {                                  \
    To n = (To)x;                                                 \
    return weir_toward_zero(n, (To)weir_sign((Wide)x - (Wide)n)); \
  }                                                               \
  WEIR_HD To name##_ru(From x) {                                  \
    To n = (To)x;                                                 \
    return weir_toward_up(n, (To)weir_sign((Wide)x - (Wide)n));   \
  }                                                               \
  WEIR_HD To name##_rd(From x) {                                  \
    To n = (To)x;                                                 \
    return weir_toward_down(n, (To)weir_sign((Wide)x - (Wide)n)); \
  }
template <class W>
WEIR_HD int weir_sign(W x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}
WEIR_TO_FLOAT(__double2float, double, float, double)
WEIR_TO_FLOAT(__int2float, int, float, double)
WEIR_TO_FLOAT(__uint2float, unsigned, float, double)
WEIR_TO_FLOAT(__ll2float, long long, float, __int128)
WEIR_TO_FLOAT(__ull2float, unsigned long long, float, __int128)
WEIR_TO_FLOAT(__ll2double, long long, double, __int128)
WEIR_TO_FLOAT(__ull2double, unsigned long long, double, __int128)
#undef WEIR_TO_FLOAT
WEIR_HD double __int2double_rn(int x) { return x; }
WEIR_HD double __uint2double_rn(unsigned x) { return x; }
