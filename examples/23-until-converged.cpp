// Lesson 23: the same work again and again until it has converged, which only the device knows.
#include <dlfcn.h>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <weir/weir.hpp>

namespace {

// x = (x + a / x) / 2, and the condition is whether that was still far away: what nvcc makes of
//
//   extern "C" __global__ void step(cudaGraphConditionalHandle again, double* x, double a) {
//     const double old = *x;
//     *x = (old + a / old) / 2;
//     cudaGraphSetConditional(again, fabs(*x - old) > 1e-12 * *x);
//   }
constexpr char step_ptx[] = R"(
.version 7.8
.target sm_70
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry step(.param .u64 again, .param .u64 x, .param .f64 a)
{
  .reg .pred %far;
  .reg .b32 %value;
  .reg .b64 %again, %x;
  .reg .f64 %a, %old, %new, %moved, %near;
  ld.param.u64 %again, [again];
  ld.param.u64 %x, [x];
  ld.param.f64 %a, [a];
  cvta.to.global.u64 %x, %x;
  ld.global.f64 %old, [%x];
  div.rn.f64 %new, %a, %old;
  add.f64 %new, %new, %old;
  mul.f64 %new, %new, 0d3FE0000000000000;
  st.global.f64 [%x], %new;
  sub.f64 %moved, %new, %old;
  abs.f64 %moved, %moved;
  mul.f64 %near, %new, 0d3D719799812DEA11;
  setp.gt.f64 %far, %moved, %near;
  selp.u32 %value, 1, 0, %far;
  {
    .param .b64 handle;
    .param .b32 to;
    st.param.b64 [handle], %again;
    st.param.b32 [to], %value;
    call.uni cudaGraphSetConditional, (handle, to);
  }
  ret;
}
)";

// Kernels are still the driver's business: its functions are asked for by name, so that this needs no toolkit.
struct module_of_driver {
  explicit module_of_driver(const char* image) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    const auto load = reinterpret_cast<int (*)(void**, const void*)>(dlsym(driver, "cuModuleLoadData"));
    if (load == nullptr || load(&module_, image) != 0) throw std::runtime_error{"the kernel cannot be loaded"};
    find_ = reinterpret_cast<int (*)(CUfunc_st**, void*, const char*)>(dlsym(driver, "cuModuleGetFunction"));
  }
  [[nodiscard]] CUfunc_st* function(const char* name) const {
    CUfunc_st* found = nullptr;
    if (find_(&found, module_, name) != 0) throw std::runtime_error{"the module has no such function"};
    return found;
  }

 private:
  void* module_ = nullptr;  // to the end of the program
  int (*find_)(CUfunc_st**, void*, const char*) = nullptr;
};

// One launch: the graph goes round by itself.
double on_device(const weir::device& gpu, const weir::stream& s, double a) {
  const weir::context_scope current{gpu};
  const module_of_driver code{step_ptx};
  weir::buffer<double> x{s, 1};
  weir::pinned_buffer<double> first{1}, last{1};
  first[0] = a;
  weir::graph g;
  const weir::condition again{g, 1};  // so that there is a first time
  const weir::copy_node in = g.add(weir::copy_parameters{first, x});
  const weir::conditional_node loop = g.add(weir::while_parameters{again}, {in});
  unsigned long long handle = again.handle();
  const double* address = x.data();
  void* arguments[] = {&handle, &address, &a};
  loop.body().add(weir::kernel_parameters{code.function("step"), {}, {}, arguments});
  g.add(weir::copy_parameters{x, last}, {loop});
  g.instantiate().launch(s);
  s.sync();
  return last[0];
}

// Without kernels nothing on the device can set a condition: the host looks after each launch.
double on_host(const weir::stream& s, double a) {
  double x = a, moved = a;
  weir::graph g;
  g.add(weir::host_function_parameters{[&x, &moved, a] {
    const double old = x;
    x = (old + a / old) / 2;
    moved = std::fabs(x - old);
  }});
  const weir::graph_exec step = g.instantiate();
  while (moved > 1e-12 * x) {
    step.launch(s);
    s.sync();
  }
  return x;
}

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};
  const bool loops = !gpu.is_embedded() && weir::conditional_support_of_driver().if_and_while;
  const double root = loops ? on_device(gpu, s, 2) : on_host(s, 2);
  std::printf("%.12f, %s\n", root, loops ? "in one launch" : "one launch for each step");
  return std::fabs(root * root - 2) < 1e-9 ? 0 : 1;
}
