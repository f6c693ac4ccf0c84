// SPDX-License-Identifier: Apache-2.0
// tools/weir/compile.cpp - the command `weir compile`: its options and its steps.
#include "compile.hpp"

#include "device_by_ordinal.hpp"
#include "failure.hpp"
#include "job_options.hpp"
#include "output_file.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>
#include <weir/device/device.hpp>
#include <weir/kernel/program.hpp>

namespace weir::tool {
namespace {

struct options {
  std::string file;
  std::string output;
  int device = 0;
  program_options program_settings;
};

// Prints the compiler's messages unchanged, because they refer to lines of the user's source.
void print_log(std::string_view log) {
  if (log.empty()) return;
  fmt::print(stderr, "{}{}", log, log.ends_with('\n') ? "" : "\n");
}

std::string read_standard_input() {
  std::string text;
  std::array<char, 1 << 16> part;
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), stdin))
    text.append(part.data(), size);
  if (std::ferror(stdin) != 0) throw failure{"cannot read standard input", errno};
  return text;
}

program read_program(const options& options) {
  if (is_standard_stream(options.file)) {
    program_options settings = options.program_settings;
    settings.name = "<stdin>";
    settings.include_paths.insert(settings.include_paths.begin(), ".");
    return program{read_standard_input(), std::move(settings)};
  }
  if (::access(options.file.c_str(), R_OK) != 0)
    throw failure{fmt::format("cannot open '{}'", options.file), errno};
  return program::from_file(options.file, options.program_settings);
}

void compile(const options& options) {
  std::error_code ignored;
  if (std::filesystem::equivalent(options.file, options.output, ignored)) {
    throw failure{
        fmt::format("'{}' is the source: the image needs a file of its own", options.output)};
  }
  const weir::device device = device_by_ordinal(options.device);
  try {
    const program_image image = read_program(options).image_for(device);
    print_log(image.warnings);
    output_file output{options.output, image.bytes.size()};
    output.write(image.bytes);
    output.commit();
    std::FILE* const names = is_standard_stream(options.output) ? stderr : stdout;
    for (const auto& [expression, lowered] : image.lowered_names)
      fmt::print(names, "{} {}\n", lowered, expression);
  } catch (const compile_error& error) {
    if (error.log().empty()) throw;  // no compiler was found
    print_log(error.log());
    throw failure{fmt::format("'{}' does not compile ({})", options.file, error.compiler())};
  }
}

}  // namespace

void add_compile(CLI::App& program) {
  const auto parsed = std::make_shared<options>();
  program_options& program_settings = parsed->program_settings;
  CLI::App* const command =
      program.add_subcommand("compile",
                             "Compile CUDA C source for the device in use: an image for "
                             "module::load() and cuModuleLoad()");
  command
      ->add_option("FILE", parsed->file,
                   "The source; its folder is the first of the include paths; - for standard input")
      ->check(refuse_empty)
      ->required();
  command->add_option("-o,--output", parsed->output, "The image; - for standard output")
      ->check(refuse_empty)
      ->required();
  // Each option takes a single value, so that the file name may follow.
  const auto repeated = [&](const char* names, std::vector<std::string>& values, const char* text) {
    command->add_option(names, values, text)->allow_extra_args(false);
  };
  repeated("-D,--define", program_settings.defines, "A macro, NAME or NAME=VALUE; may be repeated");
  repeated("-I,--include", program_settings.include_paths, "A folder of headers; may be repeated");
  repeated(
      "-n,--name", program_settings.name_expressions,
      "A template instance to compile, as scale<float>; prints the name by which its module is "
      "searched; may be repeated");
  repeated("-X,--compiler-option", program_settings.extra,
           "An option for the compiler, as it is; may be repeated");
  command->add_option("--standard", program_settings.standard,
                      "c++14, c++17 (default), c++20, ...");
  command->add_option("--architecture", program_settings.architecture,
                      "sm_90, compute_80; the device's own by default");
  command->add_option("--max-registers", program_settings.max_registers, "Of a thread, on a GPU");
  command->add_flag("--debug", program_settings.debug, "For a debugger, not for speed");
  command->add_flag("--fast-math", program_settings.fast_math, "Less exact, and faster");
  command->add_flag("--line-info", program_settings.line_info, "Line numbers for profilers");
  command->add_option("--device", parsed->device, "Which device it is for (default 0)")
      ->check(CLI::NonNegativeNumber);
  command->callback([parsed] { compile(*parsed); });
}

}  // namespace weir::tool
