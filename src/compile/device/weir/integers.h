// SPDX-License-Identifier: Apache-2.0
// weir/integers.h - integer intrinsics, and those that work on the bytes or halves of a word.
#pragma once

WEIR_HD int __popc(unsigned x) { return __builtin_popcount(x); }
WEIR_HD int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
WEIR_HD int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
WEIR_HD int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
WEIR_HD int __ffs(int x) { return __builtin_ffs(x); }
WEIR_HD int __ffsll(long long x) { return __builtin_ffsll(x); }
WEIR_HD unsigned __brev(unsigned x) {
  x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
  x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
  x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
  return __builtin_bswap32(x);
}
WEIR_HD unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
WEIR_HD int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
WEIR_HD unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
WEIR_HD long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
WEIR_HD unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
WEIR_HD int mulhi(int a, int b) { return __mulhi(a, b); }
WEIR_HD unsigned mulhi(unsigned a, unsigned b) { return __umulhi(a, b); }
WEIR_HD long long mul64hi(long long a, long long b) { return __mul64hi(a, b); }
WEIR_HD int __mul24(int a, int b) { return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)); }
WEIR_HD unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
WEIR_HD int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
WEIR_HD int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
WEIR_HD unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
WEIR_HD unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
WEIR_HD unsigned __sad(int a, int b, unsigned c) {
  return (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a) + c;
}
WEIR_HD unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }

// Four bytes of the eight of y:x, chosen by the four low nibbles of s; the nibble's high bit repeats the byte's sign.
WEIR_HD unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  const unsigned long long both = (unsigned long long)y << 32 | x;
  unsigned r = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned choice = s >> (4 * i);
    unsigned byte = (unsigned)(both >> (8 * (choice & 7))) & 0xff;
    if (choice & 8) byte = byte & 0x80 ? 0xff : 0;
    r |= byte << (8 * i);
  }
  return r;
}
WEIR_HD unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)(((unsigned long long)hi << 32 | lo) << (n & 31) >> 32);
}
WEIR_HD unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) {
  return n >= 32 ? lo : __funnelshift_l(lo, hi, n);
}
WEIR_HD unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
  return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
WEIR_HD unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) {
  return n >= 32 ? hi : __funnelshift_r(lo, hi, n);
}
// The position of the n-th set bit of a mask, counted from a base upwards, or downwards where n is negative.
WEIR_HD unsigned __fns(unsigned mask, unsigned base, int n) {
  if (n == 0) return mask >> (base & 31) & 1 ? base : 0xffffffffu;
  int left = n > 0 ? n : -n;
  for (int i = (int)base; i >= 0 && i<32; n> 0 ? ++i : --i)
    if ((mask >> i & 1) && --left == 0) return (unsigned)i;
  return 0xffffffffu;
}

// A lane of a word: `Bytes` wide, of the type T.
template <class T>
WEIR_HD T weir_part(unsigned word, unsigned i) {
  return (T)(word >> (8 * sizeof(T) * i));
}
template <class T, class F>
WEIR_HD unsigned weir_parts(unsigned a, unsigned b, F f) {
  unsigned r = 0;
  for (unsigned i = 0; i < 4 / sizeof(T); ++i)
    r |= ((unsigned)f((int)weir_part<T>(a, i), (int)weir_part<T>(b, i)) & (0xffffffffu >> (32 - 8 * sizeof(T))))
         << (8 * sizeof(T) * i);
  return r;
}
template <class A, class B, class C>
WEIR_HD C weir_dot4(unsigned a, unsigned b, C c) {
  for (unsigned i = 0; i < 4; ++i) c += (C)weir_part<A>(a, i) * (C)weir_part<B>(b, i);
  return c;
}
WEIR_HD int __dp4a(int a, int b, int c) {
  return (int)weir_dot4<signed char, signed char, unsigned>((unsigned)a, (unsigned)b, (unsigned)c);
}
WEIR_HD unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return weir_dot4<unsigned char, unsigned char, unsigned>(a, b, c);
}
WEIR_HD int __dp4a(char4 a, char4 b, int c) { return __dp4a(weir_cast<int>(a), weir_cast<int>(b), c); }
WEIR_HD unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return __dp4a(weir_cast<unsigned>(a), weir_cast<unsigned>(b), c);
}
WEIR_HD int __dp2a_lo(int a, int b, int c) { return c + (short)a * (signed char)b + (a >> 16) * (signed char)(b >> 8); }
WEIR_HD int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
WEIR_HD unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  return c + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff);
}
WEIR_HD unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return __dp2a_lo(a, b >> 16, c); }

#define WEIR_VIDEO(name, S4, S2, expression)              \
  WEIR_HD unsigned __v##name##4(unsigned a, unsigned b) { \
    typedef S4 T;                                         \
    return weir_parts<T>(a, b, [](int x, int y) {         \
      (void)sizeof(T);                                    \
      return expression;                                  \
    });                                                   \
  }                                                       \
  WEIR_HD unsigned __v##name##2(unsigned a, unsigned b) { \
    typedef S2 T;                                         \
    return weir_parts<T>(a, b, [](int x, int y) {         \
      (void)sizeof(T);                                    \
      return expression;                                  \
    });                                                   \
  }
#define WEIR_CLAMP(v)                                                    \
  ((v) > (1 << (8 * sizeof(T) - 1)) - 1 ? (1 << (8 * sizeof(T) - 1)) - 1 \
   : (v) < -(1 << (8 * sizeof(T) - 1))  ? -(1 << (8 * sizeof(T) - 1))    \
                                        : (v))
#define WEIR_CLAMPU(v) ((v) > (1 << 8 * sizeof(T)) - 1 ? (1 << 8 * sizeof(T)) - 1 : (v) < 0 ? 0 : (v))
WEIR_VIDEO(add, unsigned char, unsigned short, x + y)
WEIR_VIDEO(sub, unsigned char, unsigned short, x - y)
WEIR_VIDEO(addss, signed char, short, WEIR_CLAMP(x + y))
WEIR_VIDEO(subss, signed char, short, WEIR_CLAMP(x - y))
WEIR_VIDEO(addus, unsigned char, unsigned short, WEIR_CLAMPU(x + y))
WEIR_VIDEO(subus, unsigned char, unsigned short, WEIR_CLAMPU(x - y))
WEIR_VIDEO(avgs, signed char, short, (x + y + (x + y >= 0)) >> 1)
WEIR_VIDEO(avgu, unsigned char, unsigned short, (x + y + 1) >> 1)
WEIR_VIDEO(maxs, signed char, short, x > y ? x : y)
WEIR_VIDEO(maxu, unsigned char, unsigned short, x > y ? x : y)
WEIR_VIDEO(mins, signed char, short, x < y ? x : y)
WEIR_VIDEO(minu, unsigned char, unsigned short, x < y ? x : y)
WEIR_VIDEO(absdiffs, signed char, short, x > y ? x - y : y - x)
WEIR_VIDEO(absdiffu, unsigned char, unsigned short, x > y ? x - y : y - x)
#define WEIR_COMPARE(name, op)                                             \
  WEIR_VIDEO(cmp##name##s, signed char, short, x op y ? -1 : 0)            \
  WEIR_VIDEO(cmp##name##u, unsigned char, unsigned short, x op y ? -1 : 0) \
  WEIR_VIDEO(set##name##s, signed char, short, x op y ? 1 : 0)             \
  WEIR_VIDEO(set##name##u, unsigned char, unsigned short, x op y ? 1 : 0)
WEIR_VIDEO(cmpeq, unsigned char, unsigned short, x == y ? -1 : 0)
WEIR_VIDEO(cmpne, unsigned char, unsigned short, x != y ? -1 : 0)
WEIR_VIDEO(seteq, unsigned char, unsigned short, x == y ? 1 : 0)
WEIR_VIDEO(setne, unsigned char, unsigned short, x != y ? 1 : 0)
WEIR_COMPARE(lt, <)
WEIR_COMPARE(le, <=)
WEIR_COMPARE(gt, >)
WEIR_COMPARE(ge, >=)
#undef WEIR_COMPARE
WEIR_HD unsigned __vneg4(unsigned a) { return __vsub4(0, a); }
WEIR_HD unsigned __vneg2(unsigned a) { return __vsub2(0, a); }
WEIR_HD unsigned __vabs4(unsigned a) { return __vabsdiffs4(a, 0); }
WEIR_HD unsigned __vabs2(unsigned a) { return __vabsdiffs2(a, 0); }
WEIR_HD unsigned __vsadu4(unsigned a, unsigned b) { return __dp4a(__vabsdiffu4(a, b), 0x01010101u, 0u); }
WEIR_HD unsigned __vsads4(unsigned a, unsigned b) { return __dp4a(__vabsdiffs4(a, b), 0x01010101u, 0u); }
WEIR_HD unsigned __vsadu2(unsigned a, unsigned b) {
  const unsigned d = __vabsdiffu2(a, b);
  return (d & 0xffff) + (d >> 16);
}
WEIR_HD unsigned __vsads2(unsigned a, unsigned b) {
  const unsigned d = __vabsdiffs2(a, b);
  return (d & 0xffff) + (d >> 16);
}
#undef WEIR_VIDEO
#undef WEIR_CLAMP
#undef WEIR_CLAMPU

#define WEIR_THREE(T, t)                        \
  WEIR_HD T __vimax3_##t(T a, T b, T c) {       \
    const T m = a > b ? a : b;                  \
    return m > c ? m : c;                       \
  }                                             \
  WEIR_HD T __vimin3_##t(T a, T b, T c) {       \
    const T m = a < b ? a : b;                  \
    return m < c ? m : c;                       \
  }                                             \
  WEIR_HD T __viaddmax_##t(T a, T b, T c) {     \
    const T s = (T)((unsigned)a + (unsigned)b); \
    return s > c ? s : c;                       \
  }                                             \
  WEIR_HD T __viaddmin_##t(T a, T b, T c) {     \
    const T s = (T)((unsigned)a + (unsigned)b); \
    return s < c ? s : c;                       \
  }
WEIR_THREE(int, s32)
WEIR_THREE(unsigned, u32)
#undef WEIR_THREE
WEIR_HD int __vimax_s32_relu(int a, int b) { return __vimax3_s32(a, b, 0); }
WEIR_HD int __vimin_s32_relu(int a, int b) {
  const int m = a < b ? a : b;
  return m > 0 ? m : 0;
}

// min and max, as CUDA declares them: mixed signs compare as unsigned.
#define WEIR_MINMAX(T, A, B)                                              \
  WEIR_HD constexpr T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; } \
  WEIR_HD constexpr T max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; }
WEIR_MINMAX(int, int, int)
WEIR_MINMAX(unsigned, unsigned, unsigned)
WEIR_MINMAX(unsigned, int, unsigned)
WEIR_MINMAX(unsigned, unsigned, int)
WEIR_MINMAX(long, long, long)
WEIR_MINMAX(unsigned long, unsigned long, unsigned long)
WEIR_MINMAX(unsigned long, long, unsigned long)
WEIR_MINMAX(unsigned long, unsigned long, long)
WEIR_MINMAX(long long, long long, long long)
WEIR_MINMAX(unsigned long long, unsigned long long, unsigned long long)
WEIR_MINMAX(unsigned long long, long long, unsigned long long)
WEIR_MINMAX(unsigned long long, unsigned long long, long long)
#undef WEIR_MINMAX
WEIR_HD unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
WEIR_HD unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
WEIR_HD long long llmin(long long a, long long b) { return a < b ? a : b; }
WEIR_HD long long llmax(long long a, long long b) { return a > b ? a : b; }
WEIR_HD unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
WEIR_HD unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }

extern "C" {
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
}
WEIR_HD constexpr long abs(long x) { return x < 0 ? -x : x; }
WEIR_HD constexpr long long abs(long long x) { return x < 0 ? -x : x; }
