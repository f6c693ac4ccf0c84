// math_functions.cu - CUDA's <math.h> functions in both precisions, and the device's conversions.

// Each row is one function: y[row * n + i] is its value at x[i].
__global__ void single_precision(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];  // 0.05 to 8
  float* to = y + i;
  const auto put = [&](float value) {
    *to = value;
    to += n;
  };
  put(sinf(v));
  put(cosf(v));
  put(expf(v));
  put(exp2f(v));
  put(exp10f(v));
  put(expm1f(v));
  put(logf(v));
  put(log2f(v));
  put(log10f(v));
  put(log1pf(v));
  put(sqrtf(v));
  put(rsqrtf(v));
  put(cbrtf(v));
  put(sinhf(v));
  put(coshf(v));
  put(tanhf(v));
  put(asinf(v / 16));
  put(acosf(v / 16));
  put(atanf(v));
  put(atan2f(v, 3.0f));
  put(hypotf(v, 2.0f));
  put(powf(v, 1.75f));
  put(erff(v));
  put(tgammaf(v));
  put(sinpif(v));
  float s, c;
  sincosf(v, &s, &c);
  put(s);
  put(c);
}

__global__ void double_precision(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double v = x[i];
  double* to = y + i;
  const auto put = [&](double value) {
    *to = value;
    to += n;
  };
  put(sin(v));
  put(cos(v));
  put(exp(v));
  put(log(v));
  put(log1p(v));
  put(sqrt(v));
  put(rsqrt(v));
  put(cbrt(v));
  put(tanh(v));
  put(atan2(v, 3.0));
  put(hypot(v, 2.0));
  put(pow(v, 1.75));
  put(erf(v));
}

// Functions with exactly one correct result for any argument, compared bitwise.
__global__ void exact(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float* to = y + i;
  const auto put = [&](float value) {
    *to = value;
    to += n;
  };
  put(floorf(v));
  put(ceilf(v));
  put(truncf(v));
  put(rintf(v));
  put(roundf(v));
  put(fabsf(v));
  put(copysignf(3.0f, v));
  put(fminf(v, 1.0f));
  put(fmaxf(v, 1.0f));
  put(fmodf(v, 3.0f));
  put(fdimf(v, 0.5f));
  put(fmaf(v, v, 1.0f));
  put(__fadd_rn(v, 0.1f));
  put(__fmul_rn(v, 0.1f));
  put(__fdiv_rn(v, 3.0f));
  put(__fsqrt_rn(fabsf(v)));
  put(ldexpf(v, 3));
  put(nextafterf(v, 10.0f));
  put(isnan(v) ? 1.0f : isinf(v) ? 2.0f : 0.0f);
  put(signbit(v) ? 1.0f : 0.0f);
  put(isfinite(v) ? v - truncf(v) : 0.0f);
}

// Conversions with an explicit rounding mode; a number that is too large saturates.
__global__ void convert(const float* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  int* to = y + i;
  const auto put = [&](int value) {
    *to = value;
    to += n;
  };
  put(__float2int_rn(v));
  put(__float2int_rz(v));
  put(__float2int_ru(v));
  put(__float2int_rd(v));
  put(static_cast<int>(__float2uint_rn(fabsf(v))));
  put(__float_as_int(v));
  put(__float_as_int(__int2float_rn(__float_as_int(v))));
  put(__float_as_int(__uint2float_rz(__float_as_uint(v))));
  put(__double2hiint(static_cast<double>(v)));
  put(__double2loint(__longlong_as_double(0x3ff123456789abcdll + i)));
  put(static_cast<int>(__float2ll_rd(v) >> 3));
}

// Operations with an explicit rounding mode.
__global__ void rounded(const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float u = a[i], v = b[i];
  y[i] = __fadd_rz(u, v);
  y[n + i] = __fadd_ru(u, v);
  y[2 * n + i] = __fmul_rd(u, v);
  y[3 * n + i] = __fmul_ru(u, v);
  y[4 * n + i] = __fmaf_rz(u, v, -2.5f);
  y[5 * n + i] = __fmaf_ru(u, v, 1.0f);
  y[6 * n + i] = __fdiv_rd(u, v);
  y[7 * n + i] = __fdiv_ru(u, v);
  y[8 * n + i] = __fsqrt_rz(v);
  y[9 * n + i] = __double2float_rd(static_cast<double>(u) * v);
  y[10 * n + i] = static_cast<float>(__dadd_ru(u, 1e-30) > u);
}

// Rarely used functions.
__global__ void special(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = erfcf(v);
  y[n + i] = normcdff(v - 2.0f);
  y[2 * n + i] = norm3df(v, 1.0f, 2.0f);
  y[3 * n + i] = rhypotf(v, 2.0f);
  y[4 * n + i] = erfinvf(v / 8.5f);
  y[5 * n + i] = lgammaf(v + 3.0f);
  y[6 * n + i] = atanhf(v / 8.5f);
  y[7 * n + i] = asinhf(v);
  y[8 * n + i] = acoshf(v + 1.0f);
  y[9 * n + i] = static_cast<float>(lgamma(v + 3.0));
}

// Fast functions with larger error bounds.
__global__ void fast(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = __expf(v);
  y[n + i] = __fdividef(1.0f, v);
  y[2 * n + i] = __sinf(v - 3.0f) + 2.0f;
  y[3 * n + i] = __powf(v, 1.5f);
  y[4 * n + i] = __log2f(v + 2.0f);
  y[5 * n + i] = __saturatef(v - 0.5f);
}
