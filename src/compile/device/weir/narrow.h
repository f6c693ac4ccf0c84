// SPDX-License-Identifier: Apache-2.0
// weir/narrow.h - a floating type of 16 bits and its pairs, by conversion to float. Included once a type, with
//   WEIR_T, WEIR_T2     the types                       __half, __half2
//   WEIR_N, WEIR_N2     their parts of function names   half, half2
//   WEIR_1TO, WEIR_2TO  the same before a 2             half, half2     (bfloat16 and bfloat162)
//   WEIR_WIDEN(bits), WEIR_NARROW(float)                the conversions, to nearest even
//   WEIR_RAW, WEIR_RAW2                                 the structures of their bits
// which it undefines.
// Results of + - * / and square roots are rounded once: float has more than twice the bits.

#define WEIR_JOIN_(a, b) a##b
#define WEIR_JOIN(a, b) WEIR_JOIN_(a, b)
#define WEIR_JOIN3(a, b, c) WEIR_JOIN(WEIR_JOIN(a, b), c)

struct WEIR_T;
WEIR_HD float weir_widen(const WEIR_T& h);

struct __attribute__((aligned(2))) WEIR_T {
  unsigned short weir_x;
  WEIR_T() = default;
  WEIR_HD_MEMBER WEIR_T(float f) : weir_x(WEIR_NARROW(f)) {}
  WEIR_HD_MEMBER WEIR_T(double d) : weir_x(WEIR_NARROW(weir_to_odd(d))) {}
  template <class I, class = typename weir_if<weir_integral<I>::value>::type>
  WEIR_HD_MEMBER WEIR_T(I i) : weir_x(WEIR_NARROW(weir_to_odd((double)i))) {}
  WEIR_HD_MEMBER WEIR_T(const WEIR_RAW& raw) : weir_x(raw.x) {}
  WEIR_HD_MEMBER WEIR_T& operator=(const WEIR_RAW& raw) {
    weir_x = raw.x;
    return *this;
  }
  WEIR_HD_MEMBER operator WEIR_RAW() const { return WEIR_RAW{weir_x}; }
  WEIR_HD_MEMBER operator float() const { return WEIR_WIDEN(weir_x); }
#define WEIR_ASSIGN(op) \
  WEIR_HD_MEMBER WEIR_T& operator op##=(const WEIR_T& b) { return *this = WEIR_T((float)*this op(float) b); }
  WEIR_ASSIGN(+)
  WEIR_ASSIGN(-)
  WEIR_ASSIGN(*)
  WEIR_ASSIGN(/)
#undef WEIR_ASSIGN
  WEIR_HD_MEMBER WEIR_T& operator++() { return *this = WEIR_T((float)*this + 1.0f); }
  WEIR_HD_MEMBER WEIR_T& operator--() { return *this = WEIR_T((float)*this - 1.0f); }
  WEIR_HD_MEMBER WEIR_T operator++(int) {
    const WEIR_T before = *this;
    ++*this;
    return before;
  }
  WEIR_HD_MEMBER WEIR_T operator--(int) {
    const WEIR_T before = *this;
    --*this;
    return before;
  }
};
struct __attribute__((aligned(4))) WEIR_T2 {
  WEIR_T x, y;
  WEIR_T2() = default;
  WEIR_HD_MEMBER WEIR_T2(const WEIR_T& a, const WEIR_T& b) : x(a), y(b) {}
  WEIR_HD_MEMBER WEIR_T2(const WEIR_RAW2& raw) : x(WEIR_RAW{raw.x}), y(WEIR_RAW{raw.y}) {}
  WEIR_HD_MEMBER operator WEIR_RAW2() const { return WEIR_RAW2{x.weir_x, y.weir_x}; }
};
WEIR_HD float weir_widen(const WEIR_T& h) { return WEIR_WIDEN(h.weir_x); }
template <>
struct weir_plain<WEIR_T> {
  enum { value = 1 };
};
template <>
struct weir_plain<WEIR_T2> {
  enum { value = 1 };
};

#define WEIR_OPERATOR(op, name)                                                                                     \
  WEIR_HD WEIR_T operator op(const WEIR_T& a, const WEIR_T& b) { return WEIR_T((float)a op(float) b); }             \
  WEIR_HD WEIR_T2 operator op(const WEIR_T2& a, const WEIR_T2& b) { return WEIR_T2(a.x op b.x, a.y op b.y); }       \
  WEIR_HD WEIR_T2& operator op##=(WEIR_T2& a, const WEIR_T2& b) { return a = a op b; }                              \
  WEIR_HD WEIR_T __h##name(const WEIR_T& a, const WEIR_T& b) { return a op b; }                                     \
  WEIR_HD WEIR_T __h##name##_rn(const WEIR_T& a, const WEIR_T& b) { return a op b; }                                \
  WEIR_HD WEIR_T __h##name##_sat(const WEIR_T& a, const WEIR_T& b) { return WEIR_T(__saturatef((float)(a op b))); } \
  WEIR_HD WEIR_T2 __h##name##2(const WEIR_T2& a, const WEIR_T2& b) { return a op b; }                               \
  WEIR_HD WEIR_T2 __h##name##2_rn(const WEIR_T2& a, const WEIR_T2& b) { return a op b; }                            \
  WEIR_HD WEIR_T2 __h##name##2_sat(const WEIR_T2& a, const WEIR_T2& b) {                                            \
    return WEIR_T2(__h##name##_sat(a.x, b.x), __h##name##_sat(a.y, b.y));                                           \
  }
WEIR_OPERATOR(+, add)
WEIR_OPERATOR(-, sub)
WEIR_OPERATOR(*, mul)
WEIR_OPERATOR(/, div)
#undef WEIR_OPERATOR
WEIR_HD WEIR_T2 __h2div(const WEIR_T2& a, const WEIR_T2& b) { return a / b; }
WEIR_HD WEIR_T operator-(const WEIR_T& a) { return WEIR_T(-(float)a); }
WEIR_HD WEIR_T operator+(const WEIR_T& a) { return a; }
WEIR_HD WEIR_T2 operator-(const WEIR_T2& a) { return WEIR_T2(-a.x, -a.y); }

#define WEIR_COMPARE(op, name)                                                                      \
  WEIR_HD bool operator op(const WEIR_T& a, const WEIR_T& b) { return (float)a op(float) b; }       \
  WEIR_HD bool __h##name(const WEIR_T& a, const WEIR_T& b) { return a op b; }                       \
  WEIR_HD bool __h##name##u(const WEIR_T& a, const WEIR_T& b) {                                     \
    return a op b || (float)a != (float)a || (float)b != (float)b;                                  \
  }                                                                                                 \
  WEIR_HD bool operator op(const WEIR_T2& a, const WEIR_T2& b) { return a.x op b.x && a.y op b.y; } \
  WEIR_HD bool __hb##name##2(const WEIR_T2& a, const WEIR_T2& b) { return a op b; }                 \
  WEIR_HD WEIR_T2 __h##name##2(const WEIR_T2& a, const WEIR_T2& b) {                                \
    return WEIR_T2(WEIR_T(a.x op b.x ? 1.0f : 0.0f), WEIR_T(a.y op b.y ? 1.0f : 0.0f));             \
  }                                                                                                 \
  WEIR_HD unsigned __h##name##2_mask(const WEIR_T2& a, const WEIR_T2& b) {                          \
    return (a.x op b.x ? 0xffffu : 0) | (a.y op b.y ? 0xffff0000u : 0);                             \
  }
WEIR_COMPARE(==, eq)
WEIR_COMPARE(!=, ne)
WEIR_COMPARE(<, lt)
WEIR_COMPARE(<=, le)
WEIR_COMPARE(>, gt)
WEIR_COMPARE(>=, ge)
#undef WEIR_COMPARE

#define WEIR_ONE(name, expression)          \
  WEIR_HD WEIR_T h##name(const WEIR_T& h) { \
    const float x = (float)h;               \
    return WEIR_T(expression);              \
  }                                         \
  WEIR_HD WEIR_T2 h2##name(const WEIR_T2& a) { return WEIR_T2(h##name(a.x), h##name(a.y)); }
WEIR_ONE(sqrt, __builtin_sqrtf(x))
WEIR_ONE(rsqrt, 1 / __builtin_sqrt((double)x))
WEIR_ONE(rcp, 1 / x)
WEIR_ONE(exp, __builtin_exp((double)x))
WEIR_ONE(exp2, __builtin_exp2((double)x))
WEIR_ONE(exp10, exp10((double)x))
WEIR_ONE(log, __builtin_log((double)x))
WEIR_ONE(log2, __builtin_log2((double)x))
WEIR_ONE(log10, __builtin_log10((double)x))
WEIR_ONE(sin, __builtin_sin((double)x))
WEIR_ONE(cos, __builtin_cos((double)x))
WEIR_ONE(tanh, __builtin_tanh((double)x))
WEIR_ONE(floor, __builtin_floorf(x))
WEIR_ONE(ceil, __builtin_ceilf(x))
WEIR_ONE(trunc, __builtin_truncf(x))
WEIR_ONE(rint, __builtin_rintf(x))
#undef WEIR_ONE

#define WEIR_PAIRWISE(name, parameters1, parameters2, one, two) \
  WEIR_HD WEIR_T __h##name parameters1 { return one; }          \
  WEIR_HD WEIR_T2 __h##name##2 parameters2 { return two; }
WEIR_PAIRWISE(neg, (const WEIR_T& a), (const WEIR_T2& a), -a, -a)
WEIR_PAIRWISE(abs, (const WEIR_T& a), (const WEIR_T2& a), WEIR_T(__builtin_fabsf((float)a)),
              WEIR_T2(__habs(a.x), __habs(a.y)))
WEIR_PAIRWISE(fma, (const WEIR_T& a, const WEIR_T& b, const WEIR_T& c),
              (const WEIR_T2& a, const WEIR_T2& b, const WEIR_T2& c),
              WEIR_T(__builtin_fma((double)(float)a, (double)(float)b, (double)(float)c)),
              WEIR_T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)))
WEIR_PAIRWISE(min, (const WEIR_T& a, const WEIR_T& b), (const WEIR_T2& a, const WEIR_T2& b),
              WEIR_T(fminf((float)a, (float)b)), WEIR_T2(__hmin(a.x, b.x), __hmin(a.y, b.y)))
WEIR_PAIRWISE(max, (const WEIR_T& a, const WEIR_T& b), (const WEIR_T2& a, const WEIR_T2& b),
              WEIR_T(fmaxf((float)a, (float)b)), WEIR_T2(__hmax(a.x, b.x), __hmax(a.y, b.y)))
#undef WEIR_PAIRWISE
WEIR_HD WEIR_T __hfma_sat(const WEIR_T& a, const WEIR_T& b, const WEIR_T& c) {
  return WEIR_T(__saturatef((float)__hfma(a, b, c)));
}
WEIR_HD WEIR_T __hfma_relu(const WEIR_T& a, const WEIR_T& b, const WEIR_T& c) {
  return __hmax(__hfma(a, b, c), WEIR_T(0.0f));
}
WEIR_HD WEIR_T2 __hfma2_relu(const WEIR_T2& a, const WEIR_T2& b, const WEIR_T2& c) {
  return WEIR_T2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}
WEIR_HD WEIR_T __hmin_nan(const WEIR_T& a, const WEIR_T& b) {
  return (float)a != (float)a ? a : (float)b != (float)b ? b : __hmin(a, b);
}
WEIR_HD WEIR_T __hmax_nan(const WEIR_T& a, const WEIR_T& b) {
  return (float)a != (float)a ? a : (float)b != (float)b ? b : __hmax(a, b);
}
WEIR_HD bool __hisnan(const WEIR_T& a) { return (float)a != (float)a; }
WEIR_HD int __hisinf(const WEIR_T& a) { return __builtin_isinf((float)a) ? ((float)a > 0 ? 1 : -1) : 0; }
WEIR_HD WEIR_T2 __hisnan2(const WEIR_T2& a) {
  return WEIR_T2(WEIR_T(__hisnan(a.x) ? 1.0f : 0.0f), WEIR_T(__hisnan(a.y) ? 1.0f : 0.0f));
}
WEIR_HD bool isnan(const WEIR_T& a) { return __hisnan(a); }
WEIR_HD bool isinf(const WEIR_T& a) { return __hisinf(a) != 0; }

// Conversions.
WEIR_HD WEIR_T WEIR_JOIN(__float2, WEIR_N)(float f) { return WEIR_T(f); }
WEIR_HD WEIR_T WEIR_JOIN(__double2, WEIR_N)(double d) { return WEIR_T(d); }
WEIR_HD float WEIR_JOIN3(__, WEIR_1TO, 2float)(const WEIR_T& h) { return (float)h; }
WEIR_HD WEIR_T WEIR_JOIN3(__float2, WEIR_N, _rn)(float f) { return WEIR_T(f); }
WEIR_HD WEIR_T WEIR_JOIN3(__ushort_as_, WEIR_N, )(unsigned short bits) { return weir_cast<WEIR_T>(bits); }
WEIR_HD WEIR_T WEIR_JOIN3(__short_as_, WEIR_N, )(short bits) { return weir_cast<WEIR_T>(bits); }
WEIR_HD unsigned short WEIR_JOIN3(__, WEIR_N, _as_ushort)(const WEIR_T& h) { return h.weir_x; }
WEIR_HD short WEIR_JOIN3(__, WEIR_N, _as_short)(const WEIR_T& h) { return (short)h.weir_x; }
WEIR_HD WEIR_T weir_step(WEIR_T h, bool up) {  // the neighbour
  if ((h.weir_x & 0x7fff) == 0)
    h.weir_x = up ? 1 : 0x8001;
  else
    h.weir_x = (unsigned short)((h.weir_x & 0x8000) != 0 == up ? h.weir_x - 1 : h.weir_x + 1);
  return h;
}
WEIR_HD WEIR_T WEIR_JOIN3(__float2, WEIR_N, _rd)(float f) {
  const WEIR_T h(f);
  return (float)h > f ? weir_step(h, false) : h;
}
WEIR_HD WEIR_T WEIR_JOIN3(__float2, WEIR_N, _ru)(float f) {
  const WEIR_T h(f);
  return (float)h < f ? weir_step(h, true) : h;
}
WEIR_HD WEIR_T WEIR_JOIN3(__float2, WEIR_N, _rz)(float f) {
  const WEIR_T h(f);
  return __builtin_fabsf((float)h) > __builtin_fabsf(f) ? weir_step(h, f < 0) : h;
}
#define WEIR_INTEGER(I, i)                                         \
  WEIR_HD I WEIR_JOIN3(__, WEIR_1TO, 2##i##_rn)(const WEIR_T& h) { \
    return weir_saturate<I>(__builtin_rintf((float)h));            \
  }                                                                \
  WEIR_HD I WEIR_JOIN3(__, WEIR_1TO, 2##i##_rz)(const WEIR_T& h) { \
    return weir_saturate<I>(__builtin_truncf((float)h));           \
  }                                                                \
  WEIR_HD I WEIR_JOIN3(__, WEIR_1TO, 2##i##_ru)(const WEIR_T& h) { \
    return weir_saturate<I>(__builtin_ceilf((float)h));            \
  }                                                                \
  WEIR_HD I WEIR_JOIN3(__, WEIR_1TO, 2##i##_rd)(const WEIR_T& h) { \
    return weir_saturate<I>(__builtin_floorf((float)h));           \
  }                                                                \
  WEIR_HD WEIR_T WEIR_JOIN3(__##i##2, WEIR_N, _rn)(I v) { return WEIR_T(v); }
WEIR_INTEGER(short, short)
WEIR_INTEGER(unsigned short, ushort)
WEIR_INTEGER(int, int)
WEIR_INTEGER(unsigned, uint)
WEIR_INTEGER(long long, ll)
WEIR_INTEGER(unsigned long long, ull)
#undef WEIR_INTEGER

// Pairs.
WEIR_HD WEIR_T2 WEIR_JOIN(make_, WEIR_N2)(const WEIR_T& a, const WEIR_T& b) { return WEIR_T2(a, b); }
WEIR_HD WEIR_T2 WEIR_JOIN(__halves2, WEIR_N2)(const WEIR_T& a, const WEIR_T& b) { return WEIR_T2(a, b); }
WEIR_HD WEIR_T2 WEIR_JOIN3(__, WEIR_1TO, WEIR_JOIN(2, WEIR_N2))(const WEIR_T& a) { return WEIR_T2(a, a); }
WEIR_HD WEIR_T2 WEIR_JOIN3(__float2, WEIR_N2, _rn)(float f) { return WEIR_T2(WEIR_T(f), WEIR_T(f)); }
WEIR_HD WEIR_T2 WEIR_JOIN3(__floats2, WEIR_N2, _rn)(float a, float b) { return WEIR_T2(WEIR_T(a), WEIR_T(b)); }
WEIR_HD WEIR_T2 WEIR_JOIN3(__float22, WEIR_N2, _rn)(float2 f) { return WEIR_T2(WEIR_T(f.x), WEIR_T(f.y)); }
WEIR_HD float2 WEIR_JOIN3(__, WEIR_2TO, 2float2)(const WEIR_T2& a) { return float2{(float)a.x, (float)a.y}; }
WEIR_HD WEIR_T WEIR_JOIN(__low2, WEIR_N)(const WEIR_T2& a) { return a.x; }
WEIR_HD WEIR_T WEIR_JOIN(__high2, WEIR_N)(const WEIR_T2& a) { return a.y; }
WEIR_HD float __low2float(const WEIR_T2& a) { return (float)a.x; }
WEIR_HD float __high2float(const WEIR_T2& a) { return (float)a.y; }
WEIR_HD WEIR_T2 WEIR_JOIN(__low2, WEIR_N2)(const WEIR_T2& a) { return WEIR_T2(a.x, a.x); }
WEIR_HD WEIR_T2 WEIR_JOIN(__high2, WEIR_N2)(const WEIR_T2& a) { return WEIR_T2(a.y, a.y); }
WEIR_HD WEIR_T2 WEIR_JOIN(__lows2, WEIR_N2)(const WEIR_T2& a, const WEIR_T2& b) { return WEIR_T2(a.x, b.x); }
WEIR_HD WEIR_T2 WEIR_JOIN(__highs2, WEIR_N2)(const WEIR_T2& a, const WEIR_T2& b) { return WEIR_T2(a.y, b.y); }
WEIR_HD WEIR_T2 __lowhigh2highlow(const WEIR_T2& a) { return WEIR_T2(a.y, a.x); }

#undef WEIR_JOIN_
#undef WEIR_JOIN
#undef WEIR_JOIN3
#undef WEIR_T
#undef WEIR_T2
#undef WEIR_N
#undef WEIR_N2
#undef WEIR_1TO
#undef WEIR_2TO
#undef WEIR_WIDEN
#undef WEIR_NARROW
#undef WEIR_RAW
#undef WEIR_RAW2
