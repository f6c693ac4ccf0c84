// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/stage.cpp - the command `weir stage`: its options and its steps.
#include "stage/stage.hpp"

#include "best_time.hpp"
#include "device_by_ordinal.hpp"
#include "failure.hpp"
#include "input_file.hpp"
#include "job_options.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "stage/device_only.hpp"
#include "stage/plan.hpp"
#include "stage/report.hpp"
#include "stage/whole_job.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <weir/core/driver.hpp>

namespace weir::tool {
namespace {

struct options : job_options {
  options() : job_options{plan{}} {}

  std::string output;
  bool graph = false;
};

void measure_device_part(const input_file& file, const plan& several, int passes,
                         stage_report& report) {
  device_only part{file, several.device};
  best_time one_stream;
  best_time more;
  for (int pass = 0; pass < passes; ++pass) {
    one_stream.add(part.run(several.with_streams(1)));
    more.add(part.run(several));
    if (!part.verified())
      throw failure{"the device part brought back something else than it was given"};
  }
  report.device_only = {part.bytes(), one_stream.seconds(), more.seconds()};
}

// The best passes with one stream and with several.
struct best_pair {
  best_time one_stream;
  best_time more;
  [[nodiscard]] comparison of(std::uint64_t bytes) const {
    return {bytes, one_stream.seconds(), more.seconds()};
  }
};

replay_report about_graph(const whole_result& last, const plan& plan, const comparison& whole) {
  return {.whole = whole,
          .round_chunks = plan.round_chunks(),
          .rounds = last.replay.launches,
          .chunks_queued = plan.chunks(whole.bytes) - last.replay.launches * plan.round_chunks(),
          .changes = last.replay.changes,
          .preparation_seconds = last.replay.preparation_seconds};
}

void measure_whole_job(const input_file& file, const plan& several, const options& options,
                       stage_report& report) {
  const unsigned runs_of_a_pass = options.graph ? 4 : 2;
  progress bar{file.size() * static_cast<unsigned>(options.passes) * runs_of_a_pass};
  std::optional<output_file> output;
  if (!options.output.empty()) output.emplace(options.output, file.size());
  const chunk_sink watch = [&](std::span<const std::byte> returned) {
    bar.advance(returned.size());
  };
  const chunk_sink watch_and_write = [&](std::span<const std::byte> returned) {
    output->write(returned);
    bar.advance(returned.size());
  };

  const auto run = [&](const plan& plan, const chunk_sink& sink) {
    const whole_result result = run_whole_job(file, plan, sink);
    if (!result.verified()) {
      throw failure{fmt::format(
          "what came back is not what was sent: its CRC-32 is {:08x}, and the file's {:08x}",
          result.returned_crc, result.file_crc)};
    }
    report.crc = result.file_crc;
    return result;
  };
  const plan replayed = several.with_graph();
  best_pair queued_best;
  best_pair replayed_best;
  whole_result last;
  for (int pass = 0; pass < options.passes; ++pass) {
    queued_best.one_stream.add(run(several.with_streams(1), watch).seconds);
    // An additional pass writes the output, so that writing is not part of a measurement.
    queued_best.more.add(run(several, watch).seconds);
    if (!options.graph) continue;
    replayed_best.one_stream.add(run(replayed.with_streams(1), watch).seconds);
    last = run(replayed, watch);
    replayed_best.more.add(last.seconds);
  }
  report.whole = queued_best.of(file.size());
  if (options.graph) report.graph = about_graph(last, replayed, replayed_best.of(file.size()));
  if (output) {
    static_cast<void>(run(options.graph ? replayed : several, watch_and_write));
    output->commit();
  }
}

void stage(const options& options) {
  const std::string path = options.file.empty() ? default_input() : options.file;
  const input_file file{path};
  const plan requested{static_cast<std::size_t>(options.chunk_bytes), options.streams,
                       options.in_flight, device_by_ordinal(options.device)};
  const plan plan = requested.fitted_to(file.size());

  stage_report report;
  report.file = file.path();
  report.bytes = file.size();
  report.chunk_bytes = plan.chunk_bytes;
  report.chunks = plan.chunks(file.size());
  report.in_flight = plan.in_flight;
  report.streams = plan.streams;
  report.passes = options.passes;
  report.driver = to_string(current_driver().kind);
  report.device = options.device;
  report.device_name = plan.device.name();
  report.output = options.output;
  measure_whole_job(file, plan, options, report);
  measure_device_part(file, requested, options.passes, report);
  const std::string text = options.json ? to_json(report) : to_text(report);
  std::fputs(text.c_str(), is_standard_stream(options.output) ? stderr : stdout);
}

}  // namespace

void add_stage(CLI::App& program) {
  const auto parsed = std::make_shared<options>();
  CLI::App* const command =
      program.add_subcommand("stage",
                             "Send a file through a device in chunks, on one stream and on "
                             "several, and verify what comes back");
  add_job_options(*command, *parsed);
  command
      ->add_option("--output", parsed->output,
                   "Write what came back to this file; - for standard output")
      ->check(refuse_empty);
  command->add_flag("--graph", parsed->graph, "Also replay the job from a graph, round by round");
  command->callback([parsed] { stage(*parsed); });
}

}  // namespace weir::tool
