// SPDX-License-Identifier: Apache-2.0
// scan.cpp - how well the main job overlaps copies and kernels, and how fast they are.
#include "harness/figure.hpp"
#include "harness/sample_file.hpp"
#include "input_file.hpp"
#include "scan/job.hpp"
#include "scan/kernels.hpp"
#include "scan/on_host.hpp"
#include "scan/plan.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace bench {
namespace {

namespace scan = weir::tool::scan;

constexpr std::uint64_t file_bytes = std::uint64_t{256} << 20;
constexpr int passes = 5;

// The job's resources, and chunks of a file in pinned memory.
class in_memory {
 public:
  in_memory() {
    const scan::findings expected = scan::scan_on_host(file_, plan_).found;
    if (job_.run(scan::launch_mode::replayed, [](std::size_t) {}).found != expected) {
      throw std::runtime_error{"the device found out something else than the host"};
    }
  }

  // Returns the best of several passes.
  [[nodiscard]] double seconds(scan::launch_mode mode, scan::parts which) {
    double best = std::numeric_limits<double>::infinity();
    for (int pass = 0; pass < passes; ++pass) {
      best = std::min(best, job_.run_in_memory(mode, which, plan_.chunks(file_bytes)));
    }
    return best;
  }

 private:
  sample_file sample_{file_bytes};
  weir::tool::input_file file_{sample_.path()};
  scan::plan plan_ = scan::plan{}.fitted_to(file_bytes);
  scan::kernels code_{plan_.device};
  scan::job job_{file_, code_, plan_};
};

// The throughput of the job, compared with that of the slower of copies and kernels alone.
double measure_overlap(scan::launch_mode mode) {
  in_memory job;
  const double slower =
      std::max(job.seconds(mode, {.kernels = false}), job.seconds(mode, {.copies = false}));
  return slower / job.seconds(mode, {});
}

double measure_kernels() {
  return static_cast<double>(file_bytes) /
         in_memory{}.seconds(scan::launch_mode::queued, {.copies = false}) / 1e9;
}

const registration overlap{{.name = "scan/overlap",
                            .unit = "of the slower alone",
                            .budget = 0.9,
                            .better = better::more,
                            .budget_on = driver_filter::gpu,
                            .measure = [] { return measure_overlap(scan::launch_mode::queued); }}};
const registration overlap_graph{
    {.name = "scan/overlap_graph",
     .unit = "of the slower alone",
     .budget = 0.9,
     .better = better::more,
     .budget_on = driver_filter::gpu,
     .measure = [] { return measure_overlap(scan::launch_mode::replayed); }}};
const registration kernels{
    {.name = "scan/kernels", .unit = "GB/s", .better = better::more, .measure = measure_kernels}};

}  // namespace
}  // namespace bench
