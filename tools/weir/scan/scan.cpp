// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/scan.cpp - the command `weir scan`: its options and its steps.
#include "scan/scan.hpp"

#include "best_time.hpp"
#include "device_by_ordinal.hpp"
#include "failure.hpp"
#include "input_file.hpp"
#include "job_options.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "scan/histogram_svg.hpp"
#include "scan/job.hpp"
#include "scan/kernels.hpp"
#include "scan/on_host.hpp"
#include "scan/plan.hpp"
#include "scan/report.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <clocale>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <weir/core/driver.hpp>

namespace weir::tool {
namespace {

using namespace scan;

struct options : job_options {
  options() : job_options{plan{}} {}

  int readers = plan{}.readers;
  std::string svg;
};

// The maximum number of bytes for a measurement in memory. Longer measurements give no more
// information.
constexpr std::uint64_t max_in_memory = std::uint64_t{1} << 30;

bool terminal_takes_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::string{::nl_langinfo(CODESET)} == "UTF-8";
}

using times = std::array<best_time, columns>;

void check(const findings& of_device, const findings& of_host) {
  if (of_device.crc != of_host.crc) {
    throw failure{fmt::format("the device's CRC-32 is {:08x}, and zlib's {:08x}", of_device.crc,
                              of_host.crc)};
  }
  for (std::size_t b = 0; b < of_host.counts.size(); ++b) {
    if (of_device.counts[b] == of_host.counts[b]) continue;
    throw failure{
        fmt::format("the device counted the byte {:02x} {} times, and a plain loop {} times", b,
                    of_device.counts[b], of_host.counts[b])};
  }
}

// Measures every variant `passes` times; the variants alternate.
void measure(const input_file& file, const kernels& code, report& r) {
  job one_stream{file, code, r.job_plan.with_streams(1)};
  job several{file, code, r.job_plan};
  struct {
    job& of;
    launch_mode mode;
  } const modes[columns] = {{one_stream, launch_mode::queued},
                            {several, launch_mode::queued},
                            {several, launch_mode::replayed}};

  const std::uint64_t chunks = r.job_plan.chunks(std::min(file.size(), max_in_memory));
  progress bar{file.size() * columns * static_cast<unsigned>(r.passes)};
  const progress_callback on_progress = [&](std::size_t bytes) { bar.advance(bytes); };
  times copies;
  times kernels;
  times both;
  times from_file;
  for (int pass = 0; pass < r.passes; ++pass) {
    for (std::size_t c = 0; c < columns; ++c) {
      job& j = modes[c].of;
      const result whole = j.run(modes[c].mode, on_progress);
      check(whole.found, r.found);
      from_file[c].add(whole.seconds);
      both[c].add(j.run_in_memory(modes[c].mode, {}, chunks));
      copies[c].add(j.run_in_memory(modes[c].mode, {.kernels = false}, chunks));
      kernels[c].add(j.run_in_memory(modes[c].mode, {.copies = false}, chunks));
    }
  }
  const auto row = [](std::string_view name, std::string_view key, std::uint64_t bytes,
                      const times& of) {
    measured m{name, key, bytes};
    for (std::size_t c = 0; c < columns; ++c) m.seconds[c] = of[c].seconds();
    return m;
  };
  const std::uint64_t in_memory = chunks * r.job_plan.chunk_bytes;
  r.copies = row("copies alone", "copies", in_memory, copies);
  r.kernels = row("kernels alone", "kernels", in_memory, kernels);
  r.both = row("both at once", "both", in_memory, both);
  r.from_file = row("from the file", "from_file", file.size(), from_file);
}

void scan_file(const options& options) {
  const input_file file{options.file.empty() ? default_input() : options.file};
  std::error_code ignored;
  if (!options.svg.empty() && std::filesystem::equivalent(file.path(), options.svg, ignored)) {
    throw failure{
        fmt::format("'{}' is what is scanned: the picture needs a file of its own", options.svg)};
  }
  std::optional<output_file> picture;
  if (!options.svg.empty()) picture.emplace(options.svg, 0);
  const plan requested{static_cast<std::size_t>(options.chunk_bytes), options.streams,
                       options.in_flight, options.readers, device_by_ordinal(options.device)};
  report r;
  r.file = file.path();
  r.bytes = file.size();
  r.job_plan = requested.fitted_to(file.size());
  r.passes = options.passes;
  r.picture = options.svg;
  r.driver = to_string(current_driver().kind);
  r.device_name = r.job_plan.device.name();

  const auto start = std::chrono::steady_clock::now();
  const kernels code{r.job_plan.device};
  r.preparation_seconds =
      std::chrono::duration<double>{std::chrono::steady_clock::now() - start}.count();

  const host_result host = scan_on_host(file, r.job_plan);
  r.found = host.found;
  r.host_seconds = host.seconds;
  measure(file, code, r);
  if (picture) {
    const std::string svg =
        histogram_svg(r.found, std::filesystem::path{r.file}.filename().string());
    picture->write(std::as_bytes(std::span{svg}));
    picture->commit();
  }
  const std::string text = options.json ? to_json(r) : to_text(r, terminal_takes_utf8());
  std::fputs(text.c_str(), is_standard_stream(options.svg) ? stderr : stdout);
}

}  // namespace

void add_scan(CLI::App& program) {
  const auto parsed = std::make_shared<options>();
  CLI::App* const command =
      program.add_subcommand("scan",
                             "Compute CRC-32, histogram and entropy of a file on a device, on one "
                             "stream, on several, and from graphs");
  add_job_options(*command, *parsed);
  command->add_option("--readers", parsed->readers, "Number of threads that read the file")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  const CLI::Validator is_svg{
      [](const std::string& name) -> std::string {
        std::error_code ignored;
        const std::filesystem::file_status target = std::filesystem::status(name, ignored);
        const bool is_special = exists(target) && !is_regular_file(target);
        if (is_standard_stream(name) || is_special || name.ends_with(".svg")) return "";
        return fmt::format("'{}' has to end with .svg: the picture is an SVG", name);
      },
      ""};
  command
      ->add_option("--svg", parsed->svg, "Draw the histogram to this file; - for standard output")
      ->check(refuse_empty)
      ->check(is_svg);
  command->callback([parsed] { scan_file(*parsed); });
}

}  // namespace weir::tool
