// SPDX-License-Identifier: Apache-2.0
// peers/opencl.hpp - PoCL, the OpenCL driver for processors, as a peer for measurements.
#pragma once

#include "harness/figure.hpp"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

// The required OpenCL functions, looked up at run time, so that the program starts without OpenCL.
class opencl {
 public:
  opencl() : library_{::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL)} {
    if (library_ == nullptr) throw unavailable{"there is no libOpenCL.so.1"};
    find(get_platforms, "clGetPlatformIDs");
    find(platform_info, "clGetPlatformInfo");
    find(get_devices, "clGetDeviceIDs");
    find(create_context, "clCreateContext");
    find(create_queue, "clCreateCommandQueue");
    find(create_buffer, "clCreateBuffer");
    find(fill_buffer, "clEnqueueFillBuffer");
    find(finish, "clFinish");
    find(release_buffer, "clReleaseMemObject");
    find(create_program, "clCreateProgramWithSource");
    find(build_program, "clBuildProgram");
    find(release_program, "clReleaseProgram");
    find(create_kernel, "clCreateKernel");
    find(set_argument, "clSetKernelArg");
    find(enqueue_kernel, "clEnqueueNDRangeKernel");
    find(enqueue_write, "clEnqueueWriteBuffer");
    find(enqueue_read, "clEnqueueReadBuffer");
    find(release_kernel, "clReleaseKernel");
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
  decltype(&clCreateProgramWithSource) create_program = nullptr;
  decltype(&clBuildProgram) build_program = nullptr;
  decltype(&clReleaseProgram) release_program = nullptr;
  decltype(&clCreateKernel) create_kernel = nullptr;
  decltype(&clSetKernelArg) set_argument = nullptr;
  decltype(&clEnqueueNDRangeKernel) enqueue_kernel = nullptr;
  decltype(&clEnqueueWriteBuffer) enqueue_write = nullptr;
  decltype(&clEnqueueReadBuffer) enqueue_read = nullptr;
  decltype(&clReleaseKernel) release_kernel = nullptr;
  decltype(&clReleaseCommandQueue) release_queue = nullptr;
  decltype(&clReleaseContext) release_context = nullptr;

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    if (function == nullptr) throw unavailable{std::string{"libOpenCL.so.1 has no "} + name};
  }

  void* library_;  // stays open: PoCL has threads in it
};

inline void check_opencl(cl_int code) {
  if (code != CL_SUCCESS)
    throw std::runtime_error{"an OpenCL call failed with " + std::to_string(code)};
}

// A queue of PoCL's device.
class pocl_queue {
 public:
  pocl_queue() : device_{find_device()} {
    cl_int code = CL_SUCCESS;
    context_ = cl_.create_context(nullptr, 1, &device_, nullptr, nullptr, &code);
    check_opencl(code);
    queue_ = cl_.create_queue(context_, device_, 0, &code);
    check_opencl(code);
  }
  pocl_queue(const pocl_queue&) = delete;
  pocl_queue& operator=(const pocl_queue&) = delete;
  ~pocl_queue() {
    cl_.release_queue(queue_);
    cl_.release_context(context_);
  }

  [[nodiscard]] const opencl& calls() const { return cl_; }
  [[nodiscard]] cl_device_id device() const { return device_; }
  [[nodiscard]] cl_context context() const { return context_; }
  [[nodiscard]] cl_command_queue get() const { return queue_; }
  void sync() const { check_opencl(cl_.finish(queue_)); }

 private:
  cl_device_id find_device() {
    cl_uint count = 0;
    if (cl_.get_platforms(0, nullptr, &count) != CL_SUCCESS) count = 0;
    std::vector<cl_platform_id> platforms(count);
    if (count > 0) check_opencl(cl_.get_platforms(count, platforms.data(), nullptr));
    for (const cl_platform_id platform : platforms) {
      std::string name(256, '\0');
      check_opencl(
          cl_.platform_info(platform, CL_PLATFORM_NAME, name.size(), name.data(), nullptr));
      cl_device_id device = nullptr;
      if (name.find("Portable Computing Language") != std::string::npos &&
          cl_.get_devices(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) == CL_SUCCESS) {
        return device;
      }
    }
    throw unavailable{"PoCL is not installed (pocl-opencl-icd)"};
  }

  opencl cl_;
  cl_device_id device_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
};

// Memory of that device.
class pocl_memory {
 public:
  pocl_memory(const pocl_queue& queue, std::size_t bytes) : cl_{queue.calls()} {
    cl_int code = CL_SUCCESS;
    memory_ = cl_.create_buffer(queue.context(), CL_MEM_READ_WRITE, bytes, nullptr, &code);
    check_opencl(code);
  }
  pocl_memory(const pocl_memory&) = delete;
  pocl_memory& operator=(const pocl_memory&) = delete;
  ~pocl_memory() { cl_.release_buffer(memory_); }
  [[nodiscard]] cl_mem get() const { return memory_; }

 private:
  const opencl& cl_;
  cl_mem memory_ = nullptr;
};

}  // namespace bench
