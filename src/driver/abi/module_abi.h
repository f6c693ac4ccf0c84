// SPDX-License-Identifier: Apache-2.0
// driver/abi/module_abi.h - the format of a module image for an embedded device. The image is an
// ELF shared object that exports `weir_module`, the table of its kernels and variables. Also
// declares the functions that the driver offers to running kernels.
//
// This file is compiled into the driver. It is also a part of the source of every image, which g++
// or clang compiles as C++17 or later. So it has no includes and no namespaces, and all names begin
// with weir_. A change of a declaration requires a new weir_module_version.
#pragma once

#if !defined(__cplusplus)
#error "module images are C++"
#endif

enum : unsigned { weir_module_version = 3 };

struct weir_extent {
  unsigned x, y, z;
};

// A block of a launch, which one thread of the host runs. No member changes until the block has
// ended.
struct weir_block {
  weir_extent grid;       // gridDim
  weir_extent size;       // blockDim
  weir_extent index;      // blockIdx
  weir_extent cluster;    // blocks of a cluster; {1, 1, 1} without clusters
  unsigned char* shared;  // the dynamic shared memory, aligned to 128 bytes
  unsigned shared_bytes;
};

// The kinds of a barrier of a block: what the barrier returns to each thread (__syncthreads_count()
// and others).
enum weir_barrier : unsigned {
  weir_barrier_plain,  // 0
  weir_barrier_count,  // the number of threads whose predicate is not 0
  weir_barrier_and,    // 1 if the predicate of every thread is not 0, else 0
  weir_barrier_or,     // 1 if the predicate of any thread is not 0, else 0
};

// The reason why a kernel cannot continue. The context then fails with this error.
enum weir_fault : unsigned {
  weir_fault_trap,        // CUDA_ERROR_LAUNCH_FAILED
  weir_fault_assert,      // CUDA_ERROR_ASSERT
  weir_fault_misaligned,  // CUDA_ERROR_MISALIGNED_ADDRESS
};

// The functions that the driver offers to a running kernel. The host thread that runs the block
// calls them. While a function waits, other threads of the block or other blocks of the launch may
// run on that host thread. The caller therefore has to save threadIdx on its stack before such a
// call, and restore it afterwards.
struct weir_services {
  // Waits until every thread of the block has called this or has ended. Only for kernels with the
  // flag weir_kernel_waits.
  unsigned (*block_barrier)(weir_barrier kind, unsigned predicate);
  // Waits until every lane of the mask has called this or has ended. A lane is the linear thread
  // index modulo 32.
  void (*warp_barrier)(unsigned mask);
  // Like warp_barrier, and passes a value of up to 8 bytes to the other lanes. Returns the values
  // of all 32 lanes, valid until the calling lane waits again; the value of an absent lane is 0.
  // Sets `present` to the mask of the lanes that have called this.
  const unsigned long long* (*warp_exchange)(unsigned mask, unsigned long long value, unsigned* present);
  // Waits until no other lane of the warp can continue, and returns the mask of the lanes that are
  // in this call with an equal `place`. `place` identifies the call in the source.
  unsigned (*active_mask)(const void* place);
  // Waits for all threads of all blocks of a cooperative launch.
  void (*grid_barrier)();
  // Waits for all threads of all blocks of the cluster.
  void (*cluster_barrier)();
  // Returns the address that corresponds to an address of static or dynamic shared memory, in block
  // number `rank` of the cluster.
  void* (*cluster_address)(const void* address, unsigned rank);
  // Ends the launch with an error. Never returns. `what` is a line to print to stderr, or null.
  void (*fail)(weir_fault why, const char* what);
  // Like vprintf. Writes to the stdout of the process; the texts of concurrent calls are not mixed.
  int (*print)(const char* format, __builtin_va_list arguments);
  unsigned long long (*clock)();        // cycles of a clock with a constant rate
  unsigned long long (*time)();         // in nanoseconds
  void (*sleep)(unsigned nanoseconds);  // lets other threads run for about this time
  // Memory of the device's heap, for malloc and free in kernels. allocate() returns null if the
  // heap is used up.
  void* (*allocate)(unsigned long long bytes);
  void (*free)(void* memory);
  // Sets the condition of a graph (cudaGraphSetConditional). If no graph and no executable graph
  // has this handle, the launch ends with an error.
  void (*set_condition)(unsigned long long handle, unsigned value);
};

// A parameter of a kernel. Parameters are in the order of their declaration. `offset` is the
// parameter's position in the buffer of CU_LAUNCH_PARAM_BUFFER_POINTER.
struct weir_parameter {
  unsigned offset, size, alignment;
};

enum : unsigned {
  weir_kernel_waits = 1,  // threads of a block may wait for each other, so each needs a stack of its own
  weir_kernel_whole = 2,  // although threads may wait, one call of `run` can run all threads of a block, without separate stacks
};

struct weir_kernel {
  const char* name;  // the linker's symbol, and the name for cuModuleGetFunction
  // Runs the threads `first` to `first + count - 1` of the block one after the other, in the order
  // of their linear index. Without weir_kernel_waits it is called once for each block. With
  // weir_kernel_waits it is called once for each thread, with a count of 1; with weir_kernel_whole,
  // too, either is possible. `arguments` points to one aligned value for each parameter, which is
  // not written to.
  void (*run)(const weir_block* block, const void* const* arguments, unsigned first, unsigned count);
  const weir_parameter* parameters;
  unsigned parameter_count;
  unsigned flags;
  unsigned max_threads;    // in a block: from __launch_bounds__, or 1024
  unsigned min_blocks;     // for each multiprocessor: from __launch_bounds__, or 0
  weir_extent cluster;     // __cluster_dims__, or {0, 0, 0}
  unsigned static_shared;  // bytes of the static __shared__ variables that the kernel itself uses
  unsigned local_bytes;    // an estimate of the stack that a thread needs in addition to a small one, or 0
  // Sets the built-in variables (threadIdx and others) of the calling host thread for thread number
  // `thread` of the block. Called when the host thread continues that thread after it ran another
  // one. Null: a thread of a block is never interrupted to run another one.
  void (*resume)(const weir_block* block, unsigned thread);
};

enum weir_memory : unsigned { weir_memory_device, weir_memory_constant, weir_memory_managed };

struct weir_variable {
  const char* name;  // the linker's symbol, and the name for cuModuleGetGlobal
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
  const weir_services** services;  // the driver stores the address of its functions here before a kernel runs
  // For error messages: the host's architecture for which the image was compiled ("x86_64"), and
  // the compiler.
  const char* machine;
  const char* compiler;
};

// An image has to export this symbol: extern "C" const weir_module_table weir_module;
