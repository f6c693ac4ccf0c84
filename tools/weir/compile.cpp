// SPDX-License-Identifier: Apache-2.0
// tools/weir/compile.cpp - the command `weir compile`: its options and its steps.
#include "compile.hpp"

#include "device_by_ordinal.hpp"
#include "failure.hpp"
#include "job_options.hpp"
#include "output_file.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
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

void compile(const options& options) {
  std::error_code ignored;
  if (std::filesystem::equivalent(options.file, options.output, ignored)) {
    throw failure{
        fmt::format("'{}' is the source: the image needs a file of its own", options.output)};
  }
  const weir::device device = device_by_ordinal(options.device);
  try {
    const program source = program::from_file(options.file, options.program_settings);
    const std::vector<std::byte> image = source.image_for(device);
    print_log(source.warnings(device));
    output_file output{options.output, image.size()};
    output.write(image);
    output.commit();
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
      ->add_option("FILE", parsed->file, "The source; its folder is the first of the include paths")
      ->check(refuse_empty)
      ->required();
  command->add_option("-o,--output", parsed->output, "The image")->check(refuse_empty)->required();
  // Each option takes a single value, so that the file name may follow.
  const auto repeated = [&](const char* names, std::vector<std::string>& values, const char* text) {
    command->add_option(names, values, text)->allow_extra_args(false);
  };
  repeated("-D,--define", program_settings.defines, "A macro, NAME or NAME=VALUE; may be repeated");
  repeated("-I,--include", program_settings.include_paths, "A folder of headers; may be repeated");
  repeated("-n,--name", program_settings.name_expressions,
           "An instance of a template to be in it, as scale<float>; may be repeated");
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
