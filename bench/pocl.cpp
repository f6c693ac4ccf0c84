// pocl.cpp - how much less does the embedded driver take than PoCL, the OpenCL driver for processors, for the same?
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#include <string>
#include <vector>
#endif

namespace bench {
namespace {

#if __has_include(<CL/cl.h>)

// The functions of OpenCL that are needed, found in the library at run time: a program that needs it to start would not
// run where it is missing.
class opencl {
 public:
  opencl() : library_{::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL)} {
    if (library_ == nullptr) throw not_here{"there is no libOpenCL.so.1"};
    find(get_platforms, "clGetPlatformIDs");
    find(platform_info, "clGetPlatformInfo");
    find(get_devices, "clGetDeviceIDs");
    find(create_context, "clCreateContext");
    find(create_queue, "clCreateCommandQueue");
    find(create_buffer, "clCreateBuffer");
    find(fill_buffer, "clEnqueueFillBuffer");
    find(finish, "clFinish");
    find(release_buffer, "clReleaseMemObject");
    find(release_queue, "clReleaseCommandQueue");
    find(release_context, "clReleaseContext");
  }

  decltype(&clGetPlatformIDs) get_platforms = nullptr;
  decltype(&clGetPlatformInfo) platform_info = nullptr;
  decltype(&clGetDeviceIDs) get_devices = nullptr;
  decltype(&clCreateContext) create_context = nullptr;
  decltype(&clCreateCommandQueue) create_queue = nullptr;
  decltype(&clCreateBuffer) create_buffer = nullptr;
  decltype(&clEnqueueFillBuffer) fill_buffer = nullptr;
  decltype(&clFinish) finish = nullptr;
  decltype(&clReleaseMemObject) release_buffer = nullptr;
  decltype(&clReleaseCommandQueue) release_queue = nullptr;
  decltype(&clReleaseContext) release_context = nullptr;

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr) throw not_here{std::string{"libOpenCL.so.1 has no "} + name};
  }

  void* library_;  // stays open: PoCL has threads in it
};

void fine(cl_int code) {
  if (code != CL_SUCCESS) throw std::runtime_error{"an OpenCL call failed with " + std::to_string(code)};
}

// A queue of PoCL's device with a word of memory.
class pocl_queue {
 public:
  pocl_queue() {
    const cl_device_id device = find_device();
    cl_int code = CL_SUCCESS;
    context_ = cl_.create_context(nullptr, 1, &device, nullptr, nullptr, &code);
    fine(code);
    queue_ = cl_.create_queue(context_, device, 0, &code);
    fine(code);
    word_ = cl_.create_buffer(context_, CL_MEM_READ_WRITE, sizeof(cl_uint), nullptr, &code);
    fine(code);
  }
  pocl_queue(const pocl_queue&) = delete;
  pocl_queue& operator=(const pocl_queue&) = delete;
  ~pocl_queue() {
    cl_.release_buffer(word_);
    cl_.release_queue(queue_);
    cl_.release_context(context_);
  }

  void set(cl_uint value) {
    fine(cl_.fill_buffer(queue_, word_, &value, sizeof value, 0, sizeof value, 0, nullptr, nullptr));
  }
  void sync() { fine(cl_.finish(queue_)); }

 private:
  cl_device_id find_device() {
    cl_uint count = 0;
    if (cl_.get_platforms(0, nullptr, &count) != CL_SUCCESS) count = 0;
    std::vector<cl_platform_id> platforms(count);
    if (count > 0) fine(cl_.get_platforms(count, platforms.data(), nullptr));
    for (const cl_platform_id platform : platforms) {
      std::string name(256, '\0');
      fine(cl_.platform_info(platform, CL_PLATFORM_NAME, name.size(), name.data(), nullptr));
      cl_device_id device = nullptr;
      if (name.find("Portable Computing Language") != std::string::npos &&
          cl_.get_devices(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) == CL_SUCCESS) {
        return device;
      }
    }
    throw not_here{"PoCL is not installed (pocl-opencl-icd)"};
  }

  opencl cl_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_mem word_ = nullptr;
};

// The embedded driver's side, with the same words.
class weir_queue {
 public:
  void set(unsigned value) { ok(raw().cuMemsetD32Async(word_, value, 1, stream_)); }
  void sync() { stream_.sync(); }

 private:
  raw_stream stream_;
  raw_memory word_{4};
};

// The two take turns: PoCL's threads are still awake for a while after its turn, and one long turn of each would measure
// that.
constexpr int rounds = 200;

template <class Queue>
void run_batch(Queue& queue) {
  for (unsigned i = 0; i < 2000; ++i) queue.set(i);
  queue.sync();
}

template <class Queue>
void run_trip(Queue& queue) {
  queue.set(1);
  queue.sync();
}

// To queue and run a set of four bytes, many at a time.
double measure_operation() {
  pocl_queue pocl;
  weir_queue ours;
  return ratio(
      rounds, [&] { run_batch(ours); }, [&] { run_batch(pocl); }, [] {});
}

// From queueing one to knowing its end.
double measure_round_trip() {
  pocl_queue pocl;
  weir_queue ours;
  std::vector<double> of_pocl;
  std::vector<double> of_ours;
  for (int i = 0; i < rounds; ++i) {
    time_each(of_pocl, 100, [&] { run_trip(pocl); });
    time_each(of_ours, 100, [&] { run_trip(ours); });
  }
  return median(of_pocl) / median(of_ours);
}

#else

double measure_operation() { throw not_here{"built without OpenCL's headers (opencl-headers)"}; }
double measure_round_trip() { return measure_operation(); }

#endif

const registration pocl_operation{{.name = "pocl/operation",
                                   .unit = "x as fast as PoCL",
                                   .budget = 10,
                                   .better = better::more,
                                   .runs_on = on::embedded,
                                   .measure = measure_operation}};
const registration pocl_round_trip{{.name = "pocl/round_trip",
                                    .unit = "x as fast as PoCL",
                                    .budget = 50,
                                    .better = better::more,
                                    .runs_on = on::embedded,
                                    .measure = measure_round_trip}};

}  // namespace
}  // namespace bench
