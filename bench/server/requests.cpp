// server/requests.cpp - the work of a request, queued in either way.
#include "server/requests.hpp"

#include <algorithm>
#include <stdexcept>
#include <weir/capture/capture.hpp>
#include <weir/memory/copy.hpp>
#include <weir/graph/graph.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>

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

requests::requests(std::size_t places, queued how)
    : answer_{weir::program{source}.compile(weir::device{}).kernel("answer")},
      asked_{places * words},
      answered_{places * words},
      streams_{make_streams(std::min(places, most_streams))},
      there_{streams_[0], places * words},
      how_{how} {
  std::ranges::fill(asked_, 0.0f);
  std::ranges::fill(answered_, 0.0f);
  streams_[0].sync();
  for (std::size_t i = 0; i < places; ++i) {
    const auto part = [&](auto& of) { return std::span{of.data(), of.size()}.subspan(i * words, words); };
    work& made = work_.emplace_back(work{part(asked_), part(there_), part(answered_)});
    if (how == queued::from_graph) {
      made.all = weir::capture(stream_of(i), [&] { queue_each(made, stream_of(i)); }).instantiate();
      made.all->upload(stream_of(i));
    }
  }
  for (const weir::stream& each : streams_) each.sync();
}

// A request is known by its first words.
void requests::begin(work& of) const {
  of.number = of.number < 1e6f ? of.number + 1 : 0;
  std::ranges::fill(of.asked.first(words_checked), of.number);
}

void requests::queue_each(const work& of, const weir::stream& stream) const {
  weir::copy(stream, of.asked, of.there);
  launch(of, stream);
  weir::copy(stream, of.there, of.answered);
}

void requests::launch(const work& of, const weir::stream& stream) const {
  weir::launch(stream, {.grid = {words / threads_each}, .block = {threads_each}}, answer_, of.there.data(),
               static_cast<unsigned>(words));
}

weir::completion requests::queue(std::size_t place) {
  work& of = work_[place];
  const weir::stream& stream = stream_of(place);
  begin(of);
  if (how_ == queued::from_graph) return of.all->launch_async(stream);
  queue_each(of, stream);
  return stream.completion();
}

void requests::queue_raw(std::size_t place) {
  work& of = work_[place];
  const CUstream stream = stream_of(place).get();
  begin(of);
  const auto& table = raw();
  if (how_ == queued::from_graph) {
    ok(table.cuGraphLaunch(of.all->get(), stream));
    return;
  }
  const auto address = [](std::span<float> memory) { return reinterpret_cast<CUdeviceptr>(memory.data()); };
  float* there = of.there.data();
  unsigned n = words;
  void* parameters[] = {&there, &n};
  ok(table.cuMemcpyHtoDAsync_v2(address(of.there), of.asked.data(), of.asked.size_bytes(), stream));
  ok(table.cuLaunchKernel(answer_.get(), words / threads_each, 1, 1, threads_each, 1, 1, 0, stream, parameters,
                          nullptr));
  ok(table.cuMemcpyDtoHAsync_v2(of.answered.data(), address(of.there), of.there.size_bytes(), stream));
}

void requests::queue_together(std::span<const std::size_t> places, const weir::stream& stream, together& copies) {
  copies.in.clear();
  copies.out.clear();
  for (const std::size_t place : places) {
    work& of = work_[place];
    begin(of);
    if (how_ == queued::from_graph) {
      of.all->launch(stream);
    } else {
      copies.in.add(of.asked, of.there);
      copies.out.add(of.there, of.answered);
    }
  }
  if (how_ == queued::from_graph) return;
  copies.in.enqueue(stream);
  for (const std::size_t place : places) launch(work_[place], stream);
  copies.out.enqueue(stream);
}

void requests::sync() const {
  for (const weir::stream& each : streams_) ok(raw().cuStreamSynchronize(each.get()));
}

void requests::check(std::size_t place) const {
  const work& of = work_[place];
  if (of.answered[0] != 2 * of.number + 1 || of.answered[words_checked - 1] != 2 * of.number + 1) {
    throw std::runtime_error{"a request was answered before it was done"};
  }
}

}  // namespace bench
