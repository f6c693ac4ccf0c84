// SPDX-License-Identifier: Apache-2.0
// driver/abi/module_abi.h - what a module image for an embedded device is: an ELF shared object that exports `weir_module`,
// its table of kernels and variables, and what the driver offers to kernels that run.
//
// Compiled into the driver and, as text, into every image, by g++ and clang in C++17 and later: no includes, no
// namespaces, and names that begin with weir_. Whatever changes here changes weir_module_version.
#pragma once

#if !defined(__cplusplus)
#error "module images are C++"
#endif

enum : unsigned { weir_module_version = 3 };

struct weir_extent {
  unsigned x, y, z;
};

// A block of a launch while a thread of the host runs it. Everything in it stays as it is until the block has ended.
struct weir_block {
  weir_extent grid;       // gridDim
  weir_extent size;       // blockDim
  weir_extent index;      // blockIdx
  weir_extent cluster;    // blocks of a cluster; {1, 1, 1} without clusters
  unsigned char* shared;  // the dynamic shared memory, aligned to 128 bytes
  unsigned shared_bytes;
};

// How threads of a block wait for each other at a barrier, and what the barrier answers (__syncthreads_...).
enum weir_barrier : unsigned {
  weir_barrier_plain,  // 0
  weir_barrier_count,  // of how many threads the predicate was not 0
  weir_barrier_and,    // 1 where it was 0 of none
  weir_barrier_or,     // 1 where it was not 0 of any
};

// Why a kernel cannot go on; becomes the context's failure.
enum weir_fault : unsigned {
  weir_fault_trap,        // CUDA_ERROR_LAUNCH_FAILED
  weir_fault_assert,      // CUDA_ERROR_ASSERT
  weir_fault_misaligned,  // CUDA_ERROR_MISALIGNED_ADDRESS
};

// What the driver offers to a running kernel. All are called by the thread of the host that runs the block. Those that
// wait let other threads of the block, or blocks of the launch, run on the same thread of the host in the meantime:
// threadIdx has to be kept across them by the caller, on its stack.
struct weir_services {
  // Waits until every thread of the block that has not ended has come. Only in kernels with weir_kernel_waits.
  unsigned (*block_barrier)(weir_barrier kind, unsigned predicate);
  // Waits until every lane of the mask that has not ended has come. Lanes: the linear thread index modulo 32.
  void (*warp_barrier)(unsigned mask);
  // The same, and every lane gives a value of up to 8 bytes. The answer is the 32 values, valid until the lane next
  // waits; that of a lane that gave none is 0. `present` is the lanes that came.
  const unsigned long long* (*warp_exchange)(unsigned mask, unsigned long long value, unsigned* present);
  // The lanes that are at this call at the same place: waits until no lane of the warp can go on without it. `place`
  // tells one call in the source from another.
  unsigned (*active_mask)(const void* place);
  // Waits for all threads of all blocks of a cooperative launch, or of the cluster.
  void (*grid_barrier)();
  void (*cluster_barrier)();
  // The same address of the static or dynamic shared memory in another block of the cluster.
  void* (*cluster_address)(const void* address, unsigned rank);
  // Ends the launch. Never returns. `what` is a line for stderr, or null.
  void (*fail)(weir_fault why, const char* what);
  // Writes to the device's output, which is the process's stdout; as vprintf, for whole calls at a time.
  int (*print)(const char* format, __builtin_va_list arguments);
  unsigned long long (*clock)();        // cycles of some clock that goes evenly
  unsigned long long (*time)();         // nanoseconds
  void (*sleep)(unsigned nanoseconds);  // lets others run for about that long
  // Memory of the device's heap (malloc and free in kernels). Null where it is used up.
  void* (*allocate)(unsigned long long bytes);
  void (*free)(void* memory);
  // Sets the condition of a graph (cudaGraphSetConditional). A handle that no graph and no executable has ends the launch.
  void (*set_condition)(unsigned long long handle, unsigned value);
};

// A parameter of a kernel, in the order of its declaration. The offset is where it lies in the buffer of
// CU_LAUNCH_PARAM_BUFFER_POINTER.
struct weir_parameter {
  unsigned offset, size, alignment;
};

enum : unsigned {
  weir_kernel_waits = 1,  // threads of a block may wait for each other: each needs a stack of its own
  weir_kernel_whole = 2,  // and yet `run` may be called once a block with all its threads, which then need none
};

struct weir_kernel {
  const char* name;  // as the linker knows it: cuModuleGetFunction's
  // Runs threads `first` to `first + count - 1` of the block, in the order of their linear index, one after the other.
  // Where threads wait for each other it is called once a thread, with a count of 1; else once a block. With
  // weir_kernel_whole either will do.
  // `arguments` points to one value a parameter, aligned; they are not written to.
  void (*run)(const weir_block* block, const void* const* arguments, unsigned first, unsigned count);
  const weir_parameter* parameters;
  unsigned parameter_count;
  unsigned flags;
  unsigned max_threads;    // of a block: __launch_bounds__, or 1024
  unsigned min_blocks;     // a multiprocessor: __launch_bounds__, or 0
  weir_extent cluster;     // __cluster_dims__, or {0, 0, 0}
  unsigned static_shared;  // bytes of static __shared__ variables that it names itself
  unsigned local_bytes;    // a guess of the stack that a thread needs beyond a small one, or 0
  // Makes the built-in variables of the thread of the host those of a thread of the block that it runs, as they were before
  // another one had its turn. Null: no thread of a block is ever interrupted in favour of another.
  void (*resume)(const weir_block* block, unsigned thread);
};

enum weir_memory : unsigned { weir_memory_device, weir_memory_constant, weir_memory_managed };

struct weir_variable {
  const char* name;  // as the linker knows it: cuModuleGetGlobal's
  void* address;
  unsigned long long bytes;
  weir_memory memory;
};

struct weir_module_table {
  unsigned version;  // weir_module_version; stays first
  unsigned kernel_count;
  unsigned variable_count;
  unsigned flags;  // 0
  const weir_kernel* kernels;
  const weir_variable* variables;
  const weir_services** services;  // the driver stores its own here before anything runs
  // The options that say for whom it was compiled: the host's architecture ("x86_64") and the compiler, for messages.
  const char* machine;
  const char* compiler;
};

// The one symbol that an image has to export: extern "C" const weir_module_table weir_module;
