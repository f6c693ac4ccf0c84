// SPDX-License-Identifier: Apache-2.0
// weir/module.h - what the table behind a source is made of: names, layouts of parameters, and the functions that run a
// kernel's threads.
#pragma once

#if defined(__x86_64__)
#define WEIR_MACHINE "x86_64"
#elif defined(__aarch64__)
#define WEIR_MACHINE "aarch64"
#else
#define WEIR_MACHINE "other"
#endif
static constexpr const char* weir_machine = WEIR_MACHINE;
#if defined(__clang__)
static constexpr const char* weir_compiler = __VERSION__;
struct weir_compiler_is_clang;  // looked for in the preprocessed source
#else
static constexpr const char* weir_compiler = "GCC " __VERSION__;
#endif

// Writes the linker's name of a function or variable into the image: pairs of strings, the number and the name.
template <class T, T* Entity, unsigned N>
struct weir_name {
  __attribute__((used)) static void write() {
    __asm__ volatile(
        ".pushsection weir_names,\"a\"\n"
        ".asciz \"%c1\"\n"
        ".globl weir_name_%c1\n"
        ".hidden weir_name_%c1\n"
        "weir_name_%c1: .asciz \"%c0\"\n"
        ".popsection"
        :
        : "i"(Entity), "i"(N));
  }
};

template <class T>
weir_same<T> weir_function_of(T*);

template <unsigned... I>
struct weir_indices {};
template <unsigned N, unsigned... I>
struct weir_count_to : weir_count_to<N - 1, N - 1, I...> {};
template <unsigned... I>
struct weir_count_to<0, I...> {
  typedef weir_indices<I...> type;
};

template <class... A>
struct weir_parameters {
  weir_parameter list[sizeof...(A) + 1];
  constexpr weir_parameters() : list{} {
    const unsigned sizes[] = {(unsigned)sizeof(A)..., 0}, alignments[] = {(unsigned)alignof(A)..., 1};
    unsigned offset = 0;
    for (unsigned i = 0; i < sizeof...(A); ++i) {
      offset = (offset + alignments[i] - 1) / alignments[i] * alignments[i];
      list[i] = weir_parameter{offset, sizes[i], alignments[i]};
      offset += sizes[i];
    }
  }
};
template <class... A>
struct weir_parameters_of {
  static const weir_parameters<A...> value;
};
template <class... A>
constexpr weir_parameters<A...> weir_parameters_of<A...>::value;

WEIR_HD void weir_enter(const weir_block* block, unsigned bx, unsigned nx) {
  blockIdx.x = bx;
  blockIdx.y = block->index.y;
  blockIdx.z = block->index.z;
  blockDim.x = nx;
  blockDim.y = block->size.y;
  blockDim.z = block->size.z;
  gridDim.x = block->grid.x;
  gridDim.y = block->grid.y;
  gridDim.z = block->grid.z;
  weir_current = block;
  weir_dynamic = block->shared;
}

struct weir_values {  // up to three, as __launch_bounds__ and __cluster_dims__ have them
  unsigned v[3];
  constexpr weir_values() : v{0, 0, 0} {}
  template <unsigned N>
  constexpr weir_values(const unsigned (&a)[N]) : v{a[0], N > 1 ? a[N > 1] : 0, N > 2 ? a[N > 2 ? 2 : 0] : 0} {}
};

// Block: runs all threads of a block in one call; null where there is none.
template <class F, F* Kernel, bool Waits, F* Block = nullptr>
struct weir_entry;
template <class... A, void (*Kernel)(A...), bool Waits, void (*Block)(A...)>
struct weir_entry<void(A...), Kernel, Waits, Block> {
  // A whole block, as loops that the kernel becomes part of. Said before the loop, the ranges let the compiler see that
  // blockIdx.x * blockDim.x + threadIdx.x does not wrap around, without which it makes no vector instructions.
  WEIR_HD void loop(const weir_block* block, A... arguments) {
    const unsigned bx = block->index.x, nx = block->size.x, ny = block->size.y, nz = block->size.z;
    if (nx == 0 || nx > 1024 || bx > 0x1ffff0) __builtin_unreachable();
    weir_enter(block, bx, nx);
    for (unsigned z = 0; z < nz; ++z)
      for (unsigned y = 0; y < ny; ++y)
        for (unsigned x = 0; x < nx; ++x) {
          threadIdx.x = x;
          threadIdx.y = y;
          threadIdx.z = z;
          Kernel(arguments...);
        }
  }
  template <unsigned... I>
  __attribute__((flatten)) static void whole(const weir_block* block, const void* const* arguments,
                                             weir_indices<I...>) {
    (void)arguments;
    loop(block, *(const A*)arguments[I]...);
  }
  // Any threads of a block, and block indexes beyond those ranges: a call a thread.
  template <unsigned... I>
  static void some(const weir_block* block, const void* const* arguments, unsigned first, unsigned count,
                   weir_indices<I...>) {
    (void)arguments;
    weir_enter(block, block->index.x, block->size.x);
    unsigned x = first % block->size.x, y = first / block->size.x % block->size.y,
             z = first / block->size.x / block->size.y;
    for (; count > 0; --count) {
      threadIdx.x = x;
      threadIdx.y = y;
      threadIdx.z = z;
      Kernel(*(const A*)arguments[I]...);
      if (++x == block->size.x) {
        x = 0;
        if (++y == block->size.y) y = 0, ++z;
      }
    }
  }
  template <unsigned... I>
  __attribute__((flatten)) static void together(const weir_block* block, const void* const* arguments,
                                                weir_indices<I...>) {
    (void)arguments;
    weir_enter(block, block->index.x, block->size.x);
    Block(*(const A*)arguments[I]...);
  }
  // One thread after the other is all that a kernel that waits can do without a Block.
  template <bool HasBlock, bool Loops, class = void>
  struct weir_way {
    static bool run(const weir_block*, const void* const*) { return false; }
  };
  template <class X>
  struct weir_way<false, true, X> {
    static bool run(const weir_block* block, const void* const* arguments) {
      whole(block, arguments, typename weir_count_to<sizeof...(A)>::type());
      return true;
    }
  };
  template <bool Loops, class X>
  struct weir_way<true, Loops, X> {
    static bool run(const weir_block* block, const void* const* arguments) {
      together(block, arguments, typename weir_count_to<sizeof...(A)>::type());
      return true;
    }
  };
  static void run(const weir_block* block, const void* const* arguments, unsigned first, unsigned count) {
    typedef typename weir_count_to<sizeof...(A)>::type indices;
    if (first == 0 && count == block->size.x * block->size.y * block->size.z && block->size.x <= 1024 &&
        block->index.x <= 0x1ffff0 && weir_way<Block != nullptr, !Waits>::run(block, arguments))
      return;
    some(block, arguments, first, count, indices());
  }
  static void resume(const weir_block* block, unsigned thread) {
    threadIdx.x = thread % block->size.x;
    threadIdx.y = thread / block->size.x % block->size.y;
    threadIdx.z = thread / block->size.x / block->size.y;
  }
  static constexpr weir_kernel kernel(const char* name, weir_values bounds, weir_values cluster, bool spins) {
    return weir_kernel{
        name,
        &run,
        weir_parameters_of<A...>::value.list,
        sizeof...(A),
        (Waits ? (unsigned)weir_kernel_waits : 0u) | (Block != nullptr ? (unsigned)weir_kernel_whole : 0u),
        bounds.v[0] ? bounds.v[0] : 1024u,
        bounds.v[1],
        {cluster.v[0], cluster.v[0] && !cluster.v[1] ? 1u : cluster.v[1],
         cluster.v[0] && !cluster.v[2] ? 1u : cluster.v[2]},
        0,
        0,
        spins ? &resume : nullptr};
  }
};
