// templates.cu - C++ in kernels: templates by name expression, functors, lambdas, classes, structs
// by value.
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/type_traits>

namespace arithmetic {

struct plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct greater {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// A kernel for every type and operation.
template <class T, class Operation>
__global__ void combine(const T* a, const T* b, T* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = Operation{}(a[i], b[i]);
}

}  // namespace arithmetic

template <class Function>
__device__ void for_each_element(int n, Function&& function) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    function(i);
}

// Lambdas with captures, nested.
__global__ void by_lambdas(const int* x, long long* y, int n, int scale) {
  const auto scaled = [scale](int v) { return static_cast<long long>(v) * scale; };
  const auto shifted = [&](int v, int by) { return scaled(v) + by; };
  for_each_element(n, [=](int i) { y[i] = shifted(x[i], i); });
}

template <class T, int ROWS, int COLUMNS>
struct matrix {
  T at[ROWS][COLUMNS];

  __device__ T* operator[](int row) { return at[row]; }
  __device__ const T* operator[](int row) const { return at[row]; }

  template <int N>
  __device__ matrix<T, ROWS, N> operator*(const matrix<T, COLUMNS, N>& other) const {
    matrix<T, ROWS, N> result;
    for (int r = 0; r < ROWS; ++r) {
      for (int c = 0; c < N; ++c) {
        T sum{};
        for (int k = 0; k < COLUMNS; ++k) sum += at[r][k] * other[k][c];
        result[r][c] = sum;
      }
    }
    return result;
  }
};

using turn = matrix<int, 3, 3>;

// A struct of 52 bytes by value between other arguments.
struct options {
  turn matrix;
  short offset[3];
  bool negate;
  double factor;
};

__global__ void transform(char first, options o, const matrix<int, 3, 1>* points, int3* results,
                          short last, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto p = o.matrix * points[i];
  const int sign = o.negate ? -1 : 1;
  results[i] = make_int3(sign * p[0][0] + o.offset[0] + first, sign * p[1][0] + o.offset[1] + last,
                         static_cast<int>((sign * p[2][0] + o.offset[2]) * o.factor));
}

// A fold over any number of arguments.
template <class... Values>
__device__ auto sum_of(Values... values) {
  return (values + ...);
}

template <class T>
__global__ void limits(T* results) {
  using wide = typename cuda::std::conditional<cuda::std::is_signed<T>::value, long long,
                                               unsigned long long>::type;
  if constexpr (cuda::std::is_floating_point<T>::value) {
    results[0] = cuda::std::numeric_limits<T>::epsilon();
  } else {
    results[0] = static_cast<T>(static_cast<wide>(cuda::std::numeric_limits<T>::max()) / 2);
  }
  results[1] = sum_of(T(1), T(2), T(4), T(8));
  results[2] = static_cast<T>(sizeof(wide) + alignof(cuda::std::uint16_t));
}

// A base class, a virtual function, and objects created by the thread.
class shape {
 public:
  __device__ virtual int area() const = 0;
  __device__ virtual ~shape() {}
};

class square : public shape {
 public:
  __device__ explicit square(int side) : side_(side) {}
  __device__ int area() const override { return side_ * side_; }

 protected:
  int side_;
};

class oblong final : public square {
 public:
  __device__ oblong(int side, int other) : square(side), other_(other) {}
  __device__ int area() const override { return side_ * other_; }

 private:
  int other_;
};

__global__ void areas(const int2* sides, int* results, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const square a(sides[i].x);
  const oblong b(sides[i].x, sides[i].y);
  const shape& either = sides[i].y == 0 ? static_cast<const shape&>(a) : b;
  results[i] = either.area();
}
