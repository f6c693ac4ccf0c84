// SPDX-License-Identifier: Apache-2.0
// tests/compile/device.cpp - loads images, and schedules the threads of a block.
#include "device.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <ucontext.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "compile/host/private_folder.hpp"

namespace weir::test {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024;

struct block_thread {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  enum { ready, at_barrier, at_exchange, at_active_mask, ended } state = ready;
  unsigned predicate = 0, answer = 0, mask = 0, present = 0;
  weir_barrier kind = weir_barrier_plain;
  unsigned long long value = 0;
  const void* place = nullptr;
  unsigned long long values[32];
};

// The launch that runs. One at a time.
struct launch_state {
  const weir_kernel* kernel = nullptr;
  const weir_block* block = nullptr;
  const void* const* arguments = nullptr;
  std::vector<block_thread> threads;
  std::size_t now = 0;
  ucontext_t scheduler;
  bool failed = false;
  weir_fault why = weir_fault_trap;
  std::string text, output;
};
launch_state& state() {
  static launch_state s;
  return s;
}

block_thread& self() { return state().threads[state().now]; }
void switch_to_scheduler() { swapcontext(&self().context, &state().scheduler); }

unsigned block_barrier(weir_barrier kind, unsigned predicate) {
  block_thread& t = self();
  t.state = block_thread::at_barrier, t.kind = kind, t.predicate = predicate;
  switch_to_scheduler();
  return t.answer;
}
const unsigned long long* warp_exchange(unsigned mask, unsigned long long value,
                                        unsigned* present) {
  block_thread& t = self();
  t.state = block_thread::at_exchange, t.mask = mask, t.value = value;
  switch_to_scheduler();
  *present = t.present;
  return t.values;
}
void warp_barrier(unsigned mask) {
  unsigned present = 0;
  warp_exchange(mask, 0, &present);
}
unsigned active_mask(const void* place) {
  block_thread& t = self();
  t.state = block_thread::at_active_mask, t.place = place;
  switch_to_scheduler();
  return t.answer;
}
void no_barrier() { block_barrier(weir_barrier_plain, 0); }
void* same_address(const void* address, unsigned) { return const_cast<void*>(address); }
void fail(weir_fault why, const char* what) {
  launch_state& s = state();
  s.failed = true, s.why = why, s.text = what != nullptr ? what : "";
  for (;;) self().state = block_thread::ended, switch_to_scheduler();
}
int print(const char* format, va_list arguments) {
  char line[4096];
  const int n = std::vsnprintf(line, sizeof line, format, arguments);
  state().output += line;
  return n;
}
unsigned long long now() {
  static unsigned long long ticks = 0;
  return ++ticks;
}
void sleep(unsigned) {}
void* allocate(unsigned long long bytes) { return std::malloc(bytes); }
void release(void* memory) { std::free(memory); }
void no_condition(unsigned long long, unsigned) {}

const weir_services services{block_barrier, warp_barrier, warp_exchange, active_mask, no_barrier,
                             no_barrier,    same_address, fail,          print,       now,
                             now,           sleep,        allocate,      release,     no_condition};

bool needs_thread_contexts(const weir_kernel& k) {
  return (k.flags & weir_kernel_waits) != 0 &&
         !(device_image::whole && (k.flags & weir_kernel_whole) != 0);
}

void thread_main() {
  launch_state& s = state();
  const weir_extent size = s.block->size;
  if (needs_thread_contexts(*s.kernel))
    s.kernel->run(s.block, s.arguments, static_cast<unsigned>(s.now), 1);
  else
    s.kernel->run(s.block, s.arguments, 0, size.x * size.y * size.z);
  self().state = block_thread::ended;
  switch_to_scheduler();
}

// Releases all threads whose barrier is complete. Returns false if there are none.
bool release_waiting() {
  launch_state& s = state();
  bool any = false;
  const std::size_t n = s.threads.size();
  for (std::size_t w = 0; w < n; w += 32) {
    const std::size_t end = std::min(n, w + 32);
    for (std::size_t i = w; i < end; ++i) {
      block_thread& t = s.threads[i];
      if (t.state != block_thread::at_exchange) continue;
      bool all = true;
      for (std::size_t k = w; k < end; ++k)
        if ((t.mask >> (k - w) & 1) && s.threads[k].state != block_thread::ended &&
            !(s.threads[k].state == block_thread::at_exchange && s.threads[k].mask == t.mask))
          all = false;
      if (!all) continue;
      const unsigned mask = t.mask;
      unsigned long long values[32] = {};
      unsigned present = 0;
      for (std::size_t k = w; k < end; ++k)
        if ((mask >> (k - w) & 1) && s.threads[k].state == block_thread::at_exchange)
          present |= 1u << (k - w), values[k - w] = s.threads[k].value;
      for (std::size_t k = w; k < end; ++k) {
        if (!(present >> (k - w) & 1)) continue;
        std::memcpy(s.threads[k].values, values, sizeof values);
        s.threads[k].present = present;
        s.threads[k].state = block_thread::ready;
        any = true;
      }
    }
    if (any) continue;
    for (std::size_t i = w; i < end; ++i) {
      if (s.threads[i].state != block_thread::at_active_mask) continue;
      unsigned mask = 0;
      const void* const place = s.threads[i].place;
      for (std::size_t k = w; k < end; ++k)
        if (s.threads[k].state == block_thread::at_active_mask && s.threads[k].place == place)
          mask |= 1u << (k - w);
      for (std::size_t k = w; k < end; ++k)
        if (mask >> (k - w) & 1)
          s.threads[k].answer = mask, s.threads[k].state = block_thread::ready, any = true;
      break;
    }
  }
  if (any) return true;
  unsigned count = 0, all = 1, waiting = 0;
  for (const block_thread& t : s.threads) {
    if (t.state == block_thread::ended) continue;
    if (t.state != block_thread::at_barrier) return false;
    ++waiting;
    count += t.predicate != 0;
    all &= t.predicate != 0;
  }
  for (block_thread& t : s.threads) {
    if (t.state != block_thread::at_barrier) continue;
    t.answer = t.kind == weir_barrier_count ? count
               : t.kind == weir_barrier_and ? all
               : t.kind == weir_barrier_or  ? count != 0
                                            : 0;
    t.state = block_thread::ready;
  }
  return waiting > 0;
}

void run_block() {
  launch_state& s = state();
  const weir_extent size = s.block->size;
  const bool waits = needs_thread_contexts(*s.kernel);
  s.threads = std::vector<block_thread>(waits ? std::size_t{size.x} * size.y * size.z : 1);
  for (block_thread& t : s.threads) {
    t.stack = std::make_unique<char[]>(stack_bytes);
    getcontext(&t.context);
    t.context.uc_stack.ss_sp = t.stack.get();
    t.context.uc_stack.ss_size = stack_bytes;
    t.context.uc_link = nullptr;
    makecontext(&t.context, thread_main, 0);
  }
  do {
    for (s.now = 0; s.now < s.threads.size() && !s.failed; ++s.now)
      if (self().state == block_thread::ready) swapcontext(&s.scheduler, &self().context);
  } while (!s.failed && release_waiting());
  for (const block_thread& t : s.threads)
    if (!s.failed && t.state != block_thread::ended)
      throw std::runtime_error("threads of a block wait for ever");
}

}  // namespace

bool device_image::whole = true;

device_image::device_image(const compile::product& made) {
  // dlopen identifies a library by its path, so each load needs its own path.
  const compile::private_folder folder;
  static int count = 0;
  const std::string name = "image" + std::to_string(++count) + ".so";
  folder.write(name, {reinterpret_cast<const char*>(made.image.data()), made.image.size()});
  library_ = dlopen((folder.path() / name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  table_ = static_cast<const weir_module_table*>(dlsym(library_, "weir_module"));
  *table_->services = &services;
}
device_image::~device_image() { dlclose(library_); }

const weir_kernel& device_image::kernel(const std::string& name) const {
  for (unsigned i = 0; i < table_->kernel_count; ++i)
    if (name == table_->kernels[i].name) return table_->kernels[i];
  throw std::runtime_error("no kernel " + name);
}
const weir_variable& device_image::variable(const std::string& name) const {
  for (unsigned i = 0; i < table_->variable_count; ++i)
    if (name == table_->variables[i].name) return table_->variables[i];
  throw std::runtime_error("no variable " + name);
}
const std::string& device_image::output() const { return state().output; }

void device_image::run(const weir_kernel& k, shape how, const void* const* arguments) {
  launch_state& s = state();
  s.kernel = &k, s.arguments = arguments, s.failed = false;
  s.output.clear();
  std::vector<unsigned char> bytes(how.shared + 256);
  unsigned char* const memory =
      bytes.data() + (128 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 128);
  for (unsigned z = 0; z < how.grid.z; ++z)
    for (unsigned y = 0; y < how.grid.y; ++y)
      for (unsigned x = 0; x < how.grid.x; ++x) {
        const weir_block block{how.grid, how.block, {x, y, z}, {1, 1, 1}, memory, how.shared};
        s.block = &block;
        run_block();
        if (s.failed) throw kernel_fault(s.why, s.text);
      }
}

}  // namespace weir::test
