// SPDX-License-Identifier: Apache-2.0
// weir/maths.h - CUDA's math functions in double and single precision. Most are the C library's; what it does not have
// is here. Intrinsics that are approximate on a GPU are as exact here as the functions they stand for.
#pragma once

// A function of one argument: in double, with an f, and by the type of its argument.
#define WEIR_MATH_1(name)                                                     \
  extern "C" double name(double) noexcept;                                    \
  extern "C" float name##f(float) noexcept;                                   \
  WEIR_HD float name(float x) { return __builtin_##name##f(x); }              \
  template <class T>                                                          \
  WEIR_HD typename weir_if<weir_integral<T>::value, double>::type name(T x) { \
    return __builtin_##name((double)x);                                       \
  }
WEIR_MATH_1(sin)
WEIR_MATH_1(cos)
WEIR_MATH_1(tan)
WEIR_MATH_1(asin)
WEIR_MATH_1(acos)
WEIR_MATH_1(atan)
WEIR_MATH_1(sinh)
WEIR_MATH_1(cosh)
WEIR_MATH_1(tanh)
WEIR_MATH_1(asinh)
WEIR_MATH_1(acosh)
WEIR_MATH_1(atanh)
WEIR_MATH_1(exp)
WEIR_MATH_1(exp2)
WEIR_MATH_1(expm1)
WEIR_MATH_1(log)
WEIR_MATH_1(log2)
WEIR_MATH_1(log10)
WEIR_MATH_1(log1p)
WEIR_MATH_1(sqrt)
WEIR_MATH_1(cbrt)
WEIR_MATH_1(ceil)
WEIR_MATH_1(floor)
WEIR_MATH_1(trunc)
WEIR_MATH_1(round)
WEIR_MATH_1(rint)
WEIR_MATH_1(nearbyint)
WEIR_MATH_1(fabs)
WEIR_MATH_1(erf)
WEIR_MATH_1(erfc)
WEIR_MATH_1(tgamma)
WEIR_MATH_1(logb)
#undef WEIR_MATH_1

// The C library's own lgamma writes signgam, which all threads of the process share.
extern "C" double lgamma_r(double, int*) noexcept;
extern "C" float lgammaf_r(float, int*) noexcept;
WEIR_HD double lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
WEIR_HD float lgammaf(float x) {
  int sign;
  return lgammaf_r(x, &sign);
}
WEIR_HD float lgamma(float x) { return lgammaf(x); }
template <class T>
WEIR_HD typename weir_if<weir_integral<T>::value, double>::type lgamma(T x) {
  return lgamma((double)x);
}

#define WEIR_MATH_2(name)                                                           \
  extern "C" double name(double, double) noexcept;                                  \
  extern "C" float name##f(float, float) noexcept;                                  \
  WEIR_HD float name(float x, float y) { return __builtin_##name##f(x, y); }        \
  WEIR_HD double name(float x, double y) { return __builtin_##name((double)x, y); } \
  WEIR_HD double name(double x, float y) { return __builtin_##name(x, (double)y); } \
  template <class T>                                                                \
  WEIR_HD typename weir_if<weir_integral<T>::value, double>::type name(T x, T y) {  \
    return __builtin_##name((double)x, (double)y);                                  \
  }
WEIR_MATH_2(atan2)
WEIR_MATH_2(fmod)
WEIR_MATH_2(hypot)
WEIR_MATH_2(copysign)
WEIR_MATH_2(nextafter)
WEIR_MATH_2(remainder)
WEIR_MATH_2(fdim)
WEIR_MATH_2(pow)
#undef WEIR_MATH_2
template <class T>
WEIR_HD typename weir_if<weir_integral<T>::value, float>::type pow(float x, T y) {
  return __builtin_powf(x, (float)y);
}
template <class T>
WEIR_HD typename weir_if<weir_integral<T>::value, double>::type pow(double x, T y) {
  return __builtin_pow(x, (double)y);
}
template <class T>
WEIR_HD typename weir_if<weir_integral<T>::value, double>::type pow(T x, double y) {
  return __builtin_pow((double)x, y);
}
template <class T>
WEIR_HD typename weir_if<weir_integral<T>::value, double>::type pow(T x, float y) {
  return __builtin_pow((double)x, (double)y);
}
WEIR_HD float powif(float x, int n) { return __builtin_powif(x, n); }
WEIR_HD double powi(double x, int n) { return __builtin_powi(x, n); }

extern "C" {
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double scalbn(double, int) noexcept;
float scalbnf(float, int) noexcept;
double scalbln(double, long) noexcept;
float scalblnf(float, long) noexcept;
double frexp(double, int*) noexcept;
float frexpf(float, int*) noexcept;
double modf(double, double*) noexcept;
float modff(float, float*) noexcept;
double remquo(double, double, int*) noexcept;
float remquof(float, float, int*) noexcept;
int ilogb(double) noexcept;
int ilogbf(float) noexcept;
long lrint(double) noexcept;
long lrintf(float) noexcept;
long long llrint(double) noexcept;
long long llrintf(float) noexcept;
long lround(double) noexcept;
long lroundf(float) noexcept;
long long llround(double) noexcept;
long long llroundf(float) noexcept;
double nan(const char*) noexcept;
float nanf(const char*) noexcept;
double jn(int, double) noexcept;
float jnf(int, float) noexcept;
double yn(int, double) noexcept;
float ynf(int, float) noexcept;
void sincos(double, double*, double*) noexcept;
void sincosf(float, float*, float*) noexcept;
double j0(double) noexcept;
float j0f(float) noexcept;
double j1(double) noexcept;
float j1f(float) noexcept;
double y0(double) noexcept;
float y0f(float) noexcept;
double y1(double) noexcept;
float y1f(float) noexcept;
double fmin(double, double) noexcept __asm__("weir_fmin");
double fmax(double, double) noexcept __asm__("weir_fmax");
float fminf(float, float) noexcept __asm__("weir_fminf");
float fmaxf(float, float) noexcept __asm__("weir_fmaxf");
// As expressions, so that loops of them become vector instructions.
inline double fmin(double a, double b) noexcept { return b != b || a < b ? a : b; }
inline double fmax(double a, double b) noexcept { return b != b || a > b ? a : b; }
inline float fminf(float a, float b) noexcept { return b != b || a < b ? a : b; }
inline float fmaxf(float a, float b) noexcept { return b != b || a > b ? a : b; }
}
WEIR_HD float fmin(float a, float b) { return fminf(a, b); }
WEIR_HD float fmax(float a, float b) { return fmaxf(a, b); }
WEIR_HD double fmin(float a, double b) { return fmin((double)a, b); }
WEIR_HD double fmax(float a, double b) { return fmax((double)a, b); }
WEIR_HD double fmin(double a, float b) { return fmin(a, (double)b); }
WEIR_HD double fmax(double a, float b) { return fmax(a, (double)b); }
WEIR_HD float min(float a, float b) { return fminf(a, b); }
WEIR_HD float max(float a, float b) { return fmaxf(a, b); }
WEIR_HD double min(double a, double b) { return fmin(a, b); }
WEIR_HD double max(double a, double b) { return fmax(a, b); }
WEIR_HD double min(float a, double b) { return fmin((double)a, b); }
WEIR_HD double max(float a, double b) { return fmax((double)a, b); }
WEIR_HD double min(double a, float b) { return fmin(a, (double)b); }
WEIR_HD double max(double a, float b) { return fmax(a, (double)b); }
WEIR_HD float abs(float x) { return __builtin_fabsf(x); }
WEIR_HD double abs(double x) { return __builtin_fabs(x); }
WEIR_HD float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WEIR_HD float ldexp(float x, int n) { return __builtin_ldexpf(x, n); }
WEIR_HD float scalbn(float x, int n) { return __builtin_scalbnf(x, n); }
WEIR_HD float scalbln(float x, long n) { return __builtin_scalblnf(x, n); }
WEIR_HD float frexp(float x, int* n) { return __builtin_frexpf(x, n); }
WEIR_HD float modf(float x, float* whole) { return __builtin_modff(x, whole); }
WEIR_HD float remquo(float x, float y, int* n) { return __builtin_remquof(x, y, n); }
WEIR_HD int ilogb(float x) { return __builtin_ilogbf(x); }
WEIR_HD long lrint(float x) { return __builtin_lrintf(x); }
WEIR_HD long long llrint(float x) { return __builtin_llrintf(x); }
WEIR_HD long lround(float x) { return __builtin_lroundf(x); }
WEIR_HD long long llround(float x) { return __builtin_llroundf(x); }
WEIR_HD void sincos(float x, float* s, float* c) {
  *s = __builtin_sinf(x);
  *c = __builtin_cosf(x);
}

#define WEIR_CLASSIFY(F)                                                 \
  WEIR_HD bool isnan(F x) { return __builtin_isnan(x); }                 \
  WEIR_HD bool isinf(F x) { return __builtin_isinf(x); }                 \
  WEIR_HD bool isfinite(F x) { return __builtin_isfinite(x); }           \
  WEIR_HD bool isnormal(F x) { return __builtin_isnormal(x); }           \
  WEIR_HD bool signbit(F x) { return __builtin_signbit(x); }             \
  WEIR_HD bool isgreater(F x, F y) { return __builtin_isgreater(x, y); } \
  WEIR_HD bool isless(F x, F y) { return __builtin_isless(x, y); }       \
  WEIR_HD bool isunordered(F x, F y) { return __builtin_isunordered(x, y); }
WEIR_CLASSIFY(float)
WEIR_CLASSIFY(double)
#undef WEIR_CLASSIFY

// What the C library does not have, written once for both precisions. f: the suffix.
#define WEIR_OWN(F, f)                                                                                                \
  WEIR_HD F rsqrt##f(F x) { return 1 / __builtin_sqrt##f(x); }                                                        \
  WEIR_HD F rcbrt##f(F x) { return 1 / __builtin_cbrt##f(x); }                                                        \
  WEIR_HD F rhypot##f(F x, F y) { return 1 / __builtin_hypot##f(x, y); }                                              \
  WEIR_HD F norm3d##f(F x, F y, F z) { return (F)__builtin_hypot(__builtin_hypot((double)x, (double)y), (double)z); } \
  WEIR_HD F rnorm3d##f(F x, F y, F z) { return 1 / norm3d##f(x, y, z); }                                              \
  WEIR_HD F norm4d##f(F x, F y, F z, F w) {                                                                           \
    return (F)__builtin_hypot(__builtin_hypot((double)x, (double)y), __builtin_hypot((double)z, (double)w));          \
  }                                                                                                                   \
  WEIR_HD F rnorm4d##f(F x, F y, F z, F w) { return 1 / norm4d##f(x, y, z, w); }                                      \
  WEIR_HD F norm##f(int n, const F* x) {                                                                              \
    double sum = 0;                                                                                                   \
    for (int i = 0; i < n; ++i) sum = __builtin_hypot(sum, (double)x[i]);                                             \
    return (F)sum;                                                                                                    \
  }                                                                                                                   \
  WEIR_HD F rnorm##f(int n, const F* x) { return 1 / norm##f(n, x); }                                                 \
  WEIR_HD F exp10##f(F x) { return (F)__builtin_pow(10.0, (double)x); }                                               \
  WEIR_HD F sinpi##f(F x) {                                                                                           \
    const double r = (double)x - 2 * __builtin_rint((double)x / 2);                                                   \
    const double h = r > 0.5 ? 1 - r : r < -0.5 ? -1 - r : r;                                                         \
    return (F)__builtin_sin(3.14159265358979323846 * h);                                                              \
  }                                                                                                                   \
  WEIR_HD F cospi##f(F x) {                                                                                           \
    const double r = __builtin_fabs((double)x - 2 * __builtin_rint((double)x / 2));                                   \
    return (F)__builtin_sin(3.14159265358979323846 * (0.5 - r));                                                      \
  }                                                                                                                   \
  WEIR_HD void sincospi##f(F x, F* s, F* c) {                                                                         \
    *s = sinpi##f(x);                                                                                                 \
    *c = cospi##f(x);                                                                                                 \
  }                                                                                                                   \
  WEIR_HD F normcdf##f(F x) { return (F)(0.5 * __builtin_erfc((double)x * -0.70710678118654752440)); }                \
  WEIR_HD F normcdfinv##f(F p) { return (F)weir_normcdfinv((double)p); }                                              \
  WEIR_HD F erfinv##f(F x) { return (F)weir_erfinv((double)x); }                                                      \
  WEIR_HD F erfcinv##f(F x) { return (F)(-0.70710678118654752440 * weir_normcdfinv((double)x / 2)); }                 \
  WEIR_HD F erfcx##f(F x) { return (F)weir_erfcx((double)x); }                                                        \
  WEIR_HD F cyl_bessel_i0##f(F x) { return (F)weir_bessel_i((double)x, 0); }                                          \
  WEIR_HD F cyl_bessel_i1##f(F x) { return (F)weir_bessel_i((double)x, 1); }

// A rational starting value, then two steps of Halley's on the distribution itself.
__attribute__((unused, noinline)) static double weir_normcdfinv(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -__builtin_inf() : p == 1 ? __builtin_inf() : __builtin_nan("");
  const double tail = p < 0.5 ? p : 1 - p;
  const double t = __builtin_sqrt(-2 * __builtin_log(tail));
  double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  if (p < 0.5) x = -x;
  for (int i = 0; i < 3; ++i) {
    const double low = x < 0 ? 0.5 * __builtin_erfc(x * -0.70710678118654752440) - p
                             : (1 - p) - 0.5 * __builtin_erfc(x * 0.70710678118654752440);
    const double u = low * 2.50662827463100050242 * __builtin_exp(x * x / 2);
    x -= u / (1 + x * u / 2);
  }
  return x;
}
__attribute__((unused, noinline)) static double weir_erfinv(double x) {
  if (__builtin_fabs(x) > 0.5) {
    const double y = -0.70710678118654752440 * weir_normcdfinv((1 - __builtin_fabs(x)) / 2);
    return x < 0 ? -y : y;
  }
  double y = x * 0.88622692545275801365;
  for (int i = 0; i < 4; ++i) {
    const double u = (__builtin_erf(y) - x) * 0.88622692545275801365 * __builtin_exp(y * y);
    y -= u / (1 + y * u);
  }
  return y;
}
__attribute__((unused, noinline)) static double weir_erfcx(double x) {
  if (x < 20) return __builtin_exp(x * x) * __builtin_erfc(x);
  double fraction = 0;  // the continued fraction
  for (int k = 24; k > 0; --k) fraction = k / 2.0 / (x + fraction);
  return 0.56418958354775628695 / (x + fraction);
}
__attribute__((unused, noinline)) static double weir_bessel_i(double x, int order) {
  const double q = x * x / 4;
  double term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < 2000 && __builtin_fabs(term) > __builtin_fabs(sum) * 1e-17; ++k)
    sum += term *= q / (k * (double)(k + order));
  return sum;
}
WEIR_OWN(float, f)
WEIR_OWN(double, )
#undef WEIR_OWN
#define WEIR_BY_TYPE(name) \
  WEIR_HD float name(float x) { return name##f(x); }
WEIR_BY_TYPE(rsqrt)
WEIR_BY_TYPE(rcbrt)
WEIR_BY_TYPE(exp10)
WEIR_BY_TYPE(sinpi)
WEIR_BY_TYPE(cospi)
WEIR_BY_TYPE(normcdf)
WEIR_BY_TYPE(normcdfinv)
WEIR_BY_TYPE(erfinv)
WEIR_BY_TYPE(erfcinv)
WEIR_BY_TYPE(erfcx)
#undef WEIR_BY_TYPE

WEIR_HD float __sinf(float x) { return __builtin_sinf(x); }
WEIR_HD float __cosf(float x) { return __builtin_cosf(x); }
WEIR_HD float __tanf(float x) { return __builtin_tanf(x); }
WEIR_HD float __tanhf(float x) { return __builtin_tanhf(x); }
WEIR_HD void __sincosf(float x, float* s, float* c) { sincos(x, s, c); }
WEIR_HD float __expf(float x) { return __builtin_expf(x); }
WEIR_HD float __exp10f(float x) { return exp10f(x); }
WEIR_HD float __logf(float x) { return __builtin_logf(x); }
WEIR_HD float __log2f(float x) { return __builtin_log2f(x); }
WEIR_HD float __log10f(float x) { return __builtin_log10f(x); }
WEIR_HD float __powf(float x, float y) { return __builtin_powf(x, y); }
WEIR_HD float __fdividef(float x, float y) { return x / y; }
WEIR_HD float fdividef(float x, float y) { return x / y; }
WEIR_HD double fdivide(double x, double y) { return x / y; }
WEIR_HD float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1.0f : 0.0f; }

// A result that is not merged with what follows into one operation with one rounding.
#if defined(__x86_64__)
#define WEIR_ROUNDED(r) __asm__("" : "+x"(r))
#elif defined(__aarch64__)
#define WEIR_ROUNDED(r) __asm__("" : "+w"(r))
#else
#define WEIR_ROUNDED(r) __asm__("" : "+m"(r))
#endif
// The rounded forms: the result to nearest and the sign of its error, which is exact but for results near the ends of
// the range.
#define WEIR_FORMS(name, parameters, arguments, F, nearest, error) \
  WEIR_HD F name##_rn parameters {                                 \
    F r = nearest;                                                 \
    WEIR_ROUNDED(r);                                               \
    return r;                                                      \
  }                                                                \
  WEIR_HD F name##_rz parameters {                                 \
    F r = name##_rn arguments;                                     \
    return weir_toward_zero(r, error);                             \
  }                                                                \
  WEIR_HD F name##_ru parameters {                                 \
    F r = name##_rn arguments;                                     \
    return weir_toward_up(r, error);                               \
  }                                                                \
  WEIR_HD F name##_rd parameters {                                 \
    F r = name##_rn arguments;                                     \
    return weir_toward_down(r, error);                             \
  }
template <class F>
WEIR_HD F weir_sum_error(F a, F b, F s) {  // exact: what a + b is more than s
  F t = s - a;
  WEIR_ROUNDED(t);
  F u = s - t;
  WEIR_ROUNDED(u);
  return (a - u) + (b - t);
}
WEIR_FORMS(__fadd, (float a, float b), (a, b), float, a + b, weir_sum_error(a, b, r))
WEIR_FORMS(__fsub, (float a, float b), (a, b), float, a - b, weir_sum_error(a, -b, r))
WEIR_FORMS(__fmul, (float a, float b), (a, b), float, a* b, (float)weir_sign((double)a* b - r))
WEIR_FORMS(__fdiv, (float a, float b), (a, b), float, a / b,
           (float)(weir_sign((double)a - (double)r * b) * weir_sign(b)))
WEIR_FORMS(__frcp, (float a), (a), float, 1 / a, (float)(weir_sign(1 - (double)r * a) * weir_sign(a)))
WEIR_FORMS(__fsqrt, (float a), (a), float, __builtin_sqrtf(a), (float)weir_sign((double)a - (double)r * r))
WEIR_FORMS(__dadd, (double a, double b), (a, b), double, a + b, weir_sum_error(a, b, r))
WEIR_FORMS(__dsub, (double a, double b), (a, b), double, a - b, weir_sum_error(a, -b, r))
WEIR_FORMS(__dmul, (double a, double b), (a, b), double, a* b, __builtin_fma(a, b, -r))
WEIR_FORMS(__ddiv, (double a, double b), (a, b), double, a / b, __builtin_fma(-r, b, a) * weir_sign(b))
WEIR_FORMS(__drcp, (double a), (a), double, 1 / a, __builtin_fma(-r, a, 1.0) * weir_sign(a))
WEIR_FORMS(__dsqrt, (double a), (a), double, __builtin_sqrt(a), __builtin_fma(-r, r, a))
#undef WEIR_FORMS
WEIR_HD float __frsqrt_rn(float x) { return (float)(1 / __builtin_sqrt((double)x)); }
WEIR_HD float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WEIR_HD double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
// The product is exact in double; the sum's error tells which way the float went.
WEIR_HD float weir_fmaf_error(float a, float b, float c, float r) {
  const double p = (double)a * b, s = p + c, e = weir_sum_error(p, (double)c, s);
  return (float)weir_sign(s == r ? e : s - r);
}
WEIR_HD float __fmaf_rz(float a, float b, float c) {
  const float r = __builtin_fmaf(a, b, c);
  return weir_toward_zero(r, weir_fmaf_error(a, b, c, r));
}
WEIR_HD float __fmaf_ru(float a, float b, float c) {
  const float r = __builtin_fmaf(a, b, c);
  return weir_toward_up(r, weir_fmaf_error(a, b, c, r));
}
WEIR_HD float __fmaf_rd(float a, float b, float c) {
  const float r = __builtin_fmaf(a, b, c);
  return weir_toward_down(r, weir_fmaf_error(a, b, c, r));
}
