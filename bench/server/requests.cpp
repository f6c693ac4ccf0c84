// SPDX-License-Identifier: Apache-2.0
// server/requests.cpp - the work of a request, queued through weir or by direct driver calls.
#include "server/requests.hpp"

#include <algorithm>
#include <stdexcept>
#include <weir/capture/capture.hpp>
#include <weir/graph/graph.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>
#include <weir/memory/copy.hpp>

namespace bench {
namespace {

constexpr unsigned threads_each = 256;

constexpr const char* source = R"(
extern "C" __global__ void answer(float* x, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 2 * x[i] + 1;
}
)";

std::vector<weir::stream> make_streams(std::size_t count) {
  std::vector<weir::stream> made;
  for (std::size_t i = 0; i < count; ++i) made.emplace_back(weir::device{});
  return made;
}

}  // namespace

requests::requests(std::size_t slots, submit_mode mode)
    : answer_{weir::program{source}.compile(weir::device{}).kernel("answer")},
      input_{slots * words},
      output_{slots * words},
      streams_{make_streams(std::min(slots, max_streams))},
      device_data_{streams_[0], slots * words},
      mode_{mode} {
  std::ranges::fill(input_, 0.0f);
  std::ranges::fill(output_, 0.0f);
  streams_[0].sync();
  for (std::size_t i = 0; i < slots; ++i) {
    const auto part = [&](auto& of) {
      return std::span{of.data(), of.size()}.subspan(i * words, words);
    };
    work& made = work_.emplace_back(work{part(input_), part(device_data_), part(output_)});
    if (mode == submit_mode::from_graph) {
      made.all = weir::capture(stream_of(i), [&] { queue_each(made, stream_of(i)); }).instantiate();
      made.all->upload(stream_of(i));
    }
  }
  for (const weir::stream& each : streams_) each.sync();
}

// The first words identify a request.
void requests::begin(work& of) const {
  of.number = of.number < 1e6f ? of.number + 1 : 0;
  std::ranges::fill(of.input.first(words_checked), of.number);
}

void requests::queue_each(const work& of, const weir::stream& stream) const {
  weir::copy(stream, of.input, of.device_data);
  launch(of, stream);
  weir::copy(stream, of.device_data, of.output);
}

void requests::launch(const work& of, const weir::stream& stream) const {
  weir::launch(stream, {.grid = {words / threads_each}, .block = {threads_each}}, answer_,
               of.device_data.data(), static_cast<unsigned>(words));
}

weir::completion requests::queue(std::size_t slot) {
  work& of = work_[slot];
  const weir::stream& stream = stream_of(slot);
  begin(of);
  if (mode_ == submit_mode::from_graph) return of.all->launch_with_completion(stream);
  queue_each(of, stream);
  return stream.completion();
}

void requests::queue_raw(std::size_t slot) {
  work& of = work_[slot];
  const CUstream stream = stream_of(slot).get();
  begin(of);
  const auto& table = raw();
  if (mode_ == submit_mode::from_graph) {
    ok(table.cuGraphLaunch(of.all->get(), stream));
    return;
  }
  const auto address = [](std::span<float> memory) {
    return reinterpret_cast<CUdeviceptr>(memory.data());
  };
  float* device_data = of.device_data.data();
  unsigned n = words;
  void* parameters[] = {&device_data, &n};
  ok(table.cuMemcpyHtoDAsync_v2(address(of.device_data), of.input.data(), of.input.size_bytes(),
                                stream));
  ok(table.cuLaunchKernel(answer_.get(), words / threads_each, 1, 1, threads_each, 1, 1, 0, stream,
                          parameters, nullptr));
  ok(table.cuMemcpyDtoHAsync_v2(of.output.data(), address(of.device_data),
                                of.device_data.size_bytes(), stream));
}

void requests::queue_batch(std::span<const std::size_t> slots, const weir::stream& stream,
                           batch_copies& copies) {
  copies.in.clear();
  copies.out.clear();
  for (const std::size_t slot : slots) {
    work& of = work_[slot];
    begin(of);
    if (mode_ == submit_mode::from_graph) {
      of.all->launch(stream);
    } else {
      copies.in.add(of.input, of.device_data);
      copies.out.add(of.device_data, of.output);
    }
  }
  if (mode_ == submit_mode::from_graph) return;
  copies.in.enqueue(stream);
  for (const std::size_t slot : slots) launch(work_[slot], stream);
  copies.out.enqueue(stream);
}

void requests::sync() const {
  for (const weir::stream& each : streams_) ok(raw().cuStreamSynchronize(each.get()));
}

void requests::check(std::size_t slot) const {
  const work& of = work_[slot];
  if (of.output[0] != 2 * of.number + 1 || of.output[words_checked - 1] != 2 * of.number + 1) {
    throw std::runtime_error{"a request was answered before it was done"};
  }
}

}  // namespace bench
