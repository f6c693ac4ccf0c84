// SPDX-License-Identifier: Apache-2.0
// tools/weir/main.cpp - the program `weir`: dispatches commands, and reports failures in one line.
#include "compile.hpp"
#include "failure.hpp"
#include "graph/graph.hpp"
#include "info.hpp"
#include "run/run.hpp"
#include "scan/scan.hpp"
#include "stage/stage.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <weir/core/error.hpp>
#include <weir/version.hpp>

namespace {

constexpr int failed = 1;
constexpr int misused = 2;

int report_error(const char* text, int status) {
  std::string line{text};
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  fmt::print(stderr, "weir: {}\n", line);
  return status;
}

// Returns the text of an error of weir without its place, which is a line of the tool's own source,
// and with a hint for users of the tool.
std::string text_for_users(const weir::error& error, const CLI::App& program) {
  const bool has_chunks = program.got_subcommand("scan") || program.got_subcommand("stage");
  const std::string hint = error.result() == weir::errc::out_of_memory && has_chunks
                               ? "use a smaller --chunk or --in-flight"
                               : error.hint();
  std::string text = error.call();
  if (!error.object().empty()) text += " on " + error.object();
  text += ": " + error.code().message();
  if (!hint.empty()) text += "; " + hint;
  return text;
}

// Flushes standard output. Buffered output can still be lost, to a full disk or a closed pipe.
int flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  return report_error("cannot write to standard output", failed);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"CUDA streams, on a GPU or without one", "weir"};
  program.set_version_flag("--version", "weir " WEIR_VERSION_STRING);
  program.require_subcommand(0, 1);  // so that an unknown word is named in the error
  try {
    weir::tool::add_scan(program);
    weir::tool::add_stage(program);
    weir::tool::add_compile(program);
    weir::tool::add_run(program);
    weir::tool::add_info(program);
    weir::tool::add_graph(program);
    program.parse(argc, argv);
    if (program.get_subcommands().empty())
      return report_error(
          "a command is needed: scan, stage, compile, run, info or graph; see weir --help",
          misused);
    return flush_output();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return report_error(error.what(), misused);
    program.exit(error);  // prints the output of --help or --version
    return flush_output();
  } catch (const weir::error& error) {
    return report_error(text_for_users(error, program).c_str(), failed);
  } catch (const std::exception& error) {
    return report_error(error.what(), failed);
  }
}
