// SPDX-License-Identifier: Apache-2.0
// pocl.cpp - the embedded driver's costs compared with those of PoCL, the OpenCL driver for
// processors.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#if __has_include(<CL/cl.h>)
#include "peers/opencl.hpp"

#include <vector>
#endif

namespace bench {
namespace {

#if __has_include(<CL/cl.h>)

// A queue of PoCL's device with a word of memory.
class pocl_words {
 public:
  void set(cl_uint value) {
    const cl_mem word = word_.get();
    check_opencl(queue_.calls().fill_buffer(queue_.get(), word, &value, sizeof value, 0,
                                            sizeof value, 0, nullptr, nullptr));
  }
  void sync() { queue_.sync(); }

 private:
  pocl_queue queue_;
  pocl_memory word_{queue_, sizeof(cl_uint)};
};

// The embedded driver's counterpart, with equal words.
class weir_words {
 public:
  void set(unsigned value) { ok(raw().cuMemsetD32Async(word_, value, 1, stream_)); }
  void sync() { stream_.sync(); }

 private:
  raw_stream stream_;
  raw_memory word_{4};
};

// The two alternate in short turns: PoCL's threads stay awake for a while after its turn, which one
// long turn of each would exclude.
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

// The time to queue and run a 4-byte memset, many at a time.
double measure_operation() {
  pocl_words pocl;
  weir_words ours;
  return ratio(
      rounds, [&] { run_batch(ours); }, [&] { run_batch(pocl); }, [] {});
}

// The time from queueing one to noticing its end.
double measure_round_trip() {
  pocl_words pocl;
  weir_words ours;
  std::vector<double> of_pocl;
  std::vector<double> of_ours;
  for (int i = 0; i < rounds; ++i) {
    time_each(of_pocl, 100, [&] { run_trip(pocl); });
    time_each(of_ours, 100, [&] { run_trip(ours); });
  }
  return median(of_pocl) / median(of_ours);
}

#else

double measure_operation() { throw unavailable{"built without OpenCL's headers (opencl-headers)"}; }
double measure_round_trip() { return measure_operation(); }

#endif

const registration pocl_operation{{.name = "pocl/operation",
                                   .unit = "x as fast as PoCL",
                                   .budget = 10,
                                   .better = better::more,
                                   .runs_on = driver_filter::embedded,
                                   .measure = measure_operation}};
const registration pocl_round_trip{{.name = "pocl/round_trip",
                                    .unit = "x as fast as PoCL",
                                    .budget = 50,
                                    .better = better::more,
                                    .runs_on = driver_filter::embedded,
                                    .measure = measure_round_trip}};

}  // namespace
}  // namespace bench
