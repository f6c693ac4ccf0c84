// fractal.cu - the number of steps until a point escapes. Roundings are explicit, so that the count
// is equal on every device.

__global__ void mandelbrot(unsigned short* steps, int width, int height, double left, double top,
                           double pixel, int limit) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x;
  const int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  const double cx = fma(px, pixel, left);
  const double cy = fma(-py, pixel, top);
  double x = 0, y = 0;
  int step = 0;
  for (; step < limit; ++step) {
    const double xx = __dmul_rn(x, x);
    const double yy = __dmul_rn(y, y);
    if (__dadd_rn(xx, yy) > 4.0) break;
    y = fma(2 * x, y, cy);
    x = __dadd_rn(__dadd_rn(xx, -yy), cx);
  }
  steps[py * width + px] = static_cast<unsigned short>(step);
}

struct complex {
  float re, im;

  __device__ constexpr complex(float r, float i = 0) : re(r), im(i) {}
  __device__ friend complex operator*(const complex& a, const complex& b) {
    return {__fadd_rn(__fmul_rn(a.re, b.re), -__fmul_rn(a.im, b.im)),
            __fadd_rn(__fmul_rn(a.re, b.im), __fmul_rn(a.im, b.re))};
  }
  __device__ complex& operator+=(const complex& other) {
    re = __fadd_rn(re, other.re);
    im = __fadd_rn(im, other.im);
    return *this;
  }
  __device__ float square() const { return __fadd_rn(__fmul_rn(re, re), __fmul_rn(im, im)); }
};

// Julia sets of z -> z^power + c, with the exponent as template argument.
template <int power>
__global__ void julia(unsigned char* steps, int side, float re, float im) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= side * side) return;
  const float pixel = 3.0f / 64;  // exact
  complex z(__fadd_rn(i % side * pixel, -1.5f), __fadd_rn(i / side * pixel, -1.5f));
  const complex c{re, im};
  unsigned char step = 0;
  while (step < 255 && z.square() < 4) {
    complex next = z;
    for (int k = 1; k < power; ++k) next = next * z;
    next += c;
    z = next;
    ++step;
  }
  steps[i] = step;
}

// The root of z^3 = 1 that Newton's method reaches from each point.
__global__ void newton(signed char* roots, int side) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x;
  const int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= side || py >= side) return;
  float x = __fadd_rn(__fdiv_rn(4.0f * px, side), -2.0f);
  float y = __fadd_rn(__fdiv_rn(4.0f * py, side), -2.0f);
  for (int k = 0; k < 40; ++k) {
    const float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y), xy = __fmul_rn(x, y);
    const float d = __fmul_rn(3.0f, __fmul_rn(__fadd_rn(xx, yy), __fadd_rn(xx, yy)));
    if (d == 0.0f) break;
    const float re = __fadd_rn(xx, -yy), im = __fmul_rn(2.0f, xy);  // z squared
    x = __fadd_rn(__fmul_rn(2.0f / 3, x), __fdiv_rn(re, d));
    y = __fadd_rn(__fmul_rn(2.0f / 3, y), -__fdiv_rn(im, d));
  }
  roots[py * side + px] = x > 0.5f ? 0 : y > 0.5f ? 1 : y < -0.5f ? 2 : -1;
}
