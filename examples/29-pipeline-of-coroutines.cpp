// SPDX-License-Identifier: Apache-2.0
// Lesson 29: a pipeline written as coroutines: each one takes a chunk through all stages, and the
// coroutines overlap.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

namespace {

constexpr std::size_t chunk = 16 * 1024;
constexpr std::size_t chunks = 32;

// The resources of a chunk in flight: a stream, and memory on both sides. Allocated once, because
// allocating pinned memory is slow.
struct slot {
  explicit slot(weir::device gpu)
      : s{gpu}, in{chunk, gpu}, out{chunk, gpu}, x{s, chunk}, root{s, chunk} {}

  weir::stream s;
  weir::pinned_buffer<unsigned> in, out;
  weir::buffer<unsigned> x, root;
};

struct job {
  weir::kernel roots;
  std::vector<unsigned> input;
  std::vector<unsigned> output;
  std::size_t next = 0;  // the next chunk to be processed
};

// The stage on the device.
weir::task<> find_roots(const weir::kernel& roots, slot& at) {
  weir::copy(at.s, at.in, at.x);
  weir::launch(at.s, weir::grid(chunk), roots, weir::in(at.x), weir::out(at.root), chunk);
  weir::copy(at.s, at.root, at.out);
  co_await at.s.completion();
}

// Takes chunks from the input through the device to the output. All workers run on the thread in
// sync_wait(), so their shared data needs no lock. While one waits for the device, another one
// reads or writes.
weir::task<> worker(job& work, slot& at) {
  while (work.next < chunks) {
    const auto begin = static_cast<std::ptrdiff_t>(chunk * work.next++);
    std::copy_n(work.input.begin() + begin, chunk, at.in.begin());
    co_await find_roots(work.roots, at);
    std::copy_n(at.out.begin(), chunk, work.output.begin() + begin);
  }
}

// Returns the job's time in milliseconds, with one worker for each slot.
double run(job& work, std::deque<slot>& slots, std::size_t workers) {
  using clock = std::chrono::steady_clock;
  const clock::time_point begin = clock::now();
  work.next = 0;
  std::vector<weir::task<>> pipeline;
  for (std::size_t i = 0; i < workers; ++i) pipeline.push_back(worker(work, slots[i]));
  weir::sync_wait(weir::when_all(std::move(pipeline)));
  return std::chrono::duration<double, std::milli>{clock::now() - begin}.count();
}

bool correct(const job& work) {
  for (std::size_t i = 0; i < work.input.size(); ++i) {
    const unsigned x = work.input[i], root = work.output[i];
    if (root * root > x || (root + 1) * (root + 1) <= x) return false;
  }
  return true;
}

}  // namespace

int main() {
  const weir::device gpu;
  const weir::program source{R"(
    // The largest whole number whose square is not above x: slow to find, quick to check.
    extern "C" __global__ void roots(const unsigned* x, unsigned* root, size_t n) {
      const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      unsigned r = 0;
      while ((r + 1) * (r + 1) <= x[i]) ++r;
      root[i] = r;
    }
  )"};
  job work{.roots = source.compile(gpu).kernel("roots"),
           .input = std::vector<unsigned>(chunk * chunks),
           .output = std::vector<unsigned>(chunk * chunks)};
  for (std::size_t i = 0; i < work.input.size(); ++i)
    work.input[i] = static_cast<unsigned>(i * i % 10007);

  std::deque<slot> slots;
  for (int i = 0; i < 4; ++i) slots.emplace_back(gpu);

  run(work, slots, slots.size());  // warm-up
  bool right = correct(work);
  double alone = 0;
  for (const std::size_t workers : {1, 2, 4}) {
    std::fill(work.output.begin(), work.output.end(), 0U);
    const double spent = run(work, slots, workers);
    if (workers == 1) alone = spent;
    std::printf("%zu at a time: %6.2f ms, %.2f times as fast as one by one\n", workers, spent,
                alone / spent);
    right = right && correct(work);
  }
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
