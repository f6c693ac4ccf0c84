// SPDX-License-Identifier: Apache-2.0
// stage.cpp - the gain of the main job from several streams and from a graph, and the overhead of
// weir.
#include "by_hand/raw_whole_job.hpp"
#include "harness/figure.hpp"
#include "harness/sample_file.hpp"
#include "harness/timing.hpp"
#include "input_file.hpp"
#include "stage/device_only.hpp"
#include "stage/plan.hpp"
#include "stage/whole_job.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr std::uint64_t file_bytes = std::uint64_t{256} << 20;
constexpr int passes = 5;

// How many times as fast the copies alone are with four streams as with one, for a file in pinned
// memory.
double measure_device_part() {
  const sample_file sample{file_bytes};
  const weir::tool::plan several;
  weir::tool::device_only part{weir::tool::input_file{sample.path()}, several.device};
  double one_stream = std::numeric_limits<double>::infinity();
  double more = one_stream;
  for (int pass = 0; pass < passes; ++pass) {
    one_stream = std::min(one_stream, part.run(several.with_streams(1)));
    more = std::min(more, part.run(several));
    if (!part.verified()) throw std::runtime_error{"the device part brought back something else"};
  }
  return one_stream / more;
}

// The throughput of the whole job, divided by that of an equal pipeline of direct driver calls.
double measure_whole_job() {
  const sample_file sample{file_bytes};
  const weir::tool::input_file file{sample.path()};
  const weir::tool::plan plan;
  const raw_job by_hand{sample.descriptor(), file_bytes, plan.chunk_bytes,
                        static_cast<std::size_t>(plan.in_flight)};
  double ours = std::numeric_limits<double>::infinity();
  double raw = ours;
  for (int pass = 0; pass < passes; ++pass) {
    const raw_job_result r = run_raw_whole_job(by_hand);
    const weir::tool::whole_result w =
        weir::tool::run_whole_job(file, plan, [](std::span<const std::byte>) {});
    if (r.file_crc != r.returned_crc || !w.verified() || w.file_crc != r.file_crc) {
      throw std::runtime_error{"what came back is not what was sent"};
    }
    raw = std::min(raw, r.seconds);
    ours = std::min(ours, w.seconds);
  }
  return raw / ours;
}

// The whole job replayed from a graph, round by round, compared with the job queued chunk by chunk.
double measure_graph(std::size_t chunk_bytes) {
  constexpr std::size_t pairs = 61;
  const sample_file sample{file_bytes / 4};
  const weir::tool::input_file file{sample.path()};
  const weir::tool::plan queued{.chunk_bytes = chunk_bytes};
  const weir::tool::plan replayed = queued.with_graph();
  const auto seconds = [&](const weir::tool::plan& plan) {
    const weir::tool::whole_result result =
        weir::tool::run_whole_job(file, plan, [](std::span<const std::byte>) {});
    if (!result.verified() || plan.graph != (result.replay.launches > 0)) {
      throw std::runtime_error{"what came back is not what was sent, or not as it was to be sent"};
    }
    return result.seconds;
  };
  // Creating the jobs takes as long as running them and is not timed, so ratio() does not fit here.
  std::vector<double> quotients;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const bool queued_first = pair % 2 == 0;
    const double first = seconds(queued_first ? queued : replayed);
    const double second = seconds(queued_first ? replayed : queued);
    quotients.push_back(queued_first ? first / second : second / first);
  }
  return median(std::move(quotients));
}

const registration device_only{{.name = "stage/device_part",
                                .unit = "x one stream",
                                .budget = 1.6,
                                .better = better::more,
                                .budget_on = driver_filter::gpu,
                                .measure = measure_device_part}};
const registration whole_job{{.name = "stage/whole_job",
                              .unit = "x the raw version",
                              .budget = 0.9,
                              .better = better::more,
                              .budget_on = driver_filter::gpu,
                              .measure = measure_whole_job}};
const registration graph{{.name = "stage/graph",
                          .unit = "x without a graph",
                          .budget = 0.98,
                          .better = better::more,
                          .measure = [] { return measure_graph(weir::tool::plan{}.chunk_bytes); }}};
const registration graph_64k{{.name = "stage/graph_64k",
                              .unit = "x without a graph",
                              .budget = 0.98,
                              .better = better::more,
                              .measure = [] { return measure_graph(std::size_t{64} << 10); }}};

}  // namespace
}  // namespace bench
