// main.cpp - the program `weir`: finds the command, and tells failures in one line.
#include "compile.hpp"
#include "failure.hpp"
#include "graph.hpp"
#include "info.hpp"
#include "scan/scan.hpp"
#include "stage/stage.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>
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

// What was printed may still be lost: to a full disk, or to a reader that has gone.
int flush_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  return report_error("cannot write to standard output", failed);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"CUDA streams, on a GPU or without one", "weir"};
  program.set_version_flag("--version", "weir " WEIR_VERSION_STRING);
  program.require_subcommand(0, 1);  // so that a word that is none is named
  try {
    weir::tool::add_scan(program);
    weir::tool::add_stage(program);
    weir::tool::add_compile(program);
    weir::tool::add_info(program);
    weir::tool::add_graph(program);
    program.parse(argc, argv);
    if (program.get_subcommands().empty())
      return report_error(
          "a command is needed: scan, stage, compile, info or graph; see weir --help", misused);
    return flush_output();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return report_error(error.what(), misused);
    program.exit(error);  // --help and --version print what was asked for
    return flush_output();
  } catch (const std::exception& error) {
    return report_error(error.what(), failed);
  }
}
