// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph.cpp - the command `weir graph`: its options and its steps.
#include "graph.hpp"

#include "failure.hpp"
#include "graphviz.hpp"
#include "job_options.hpp"
#include "output_file.hpp"
#include "unique_fd.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

namespace weir::tool {
namespace {

struct options {
  std::string file;
  std::string output;
};

constexpr std::array<std::string_view, 4> formats{"svg", "png", "pdf", "dot"};

// The format of an output file by its extension; empty for an unknown extension.
std::string format_of(const std::string& output) {
  const std::string extension = std::filesystem::path{output}.extension();
  const auto known =
      std::ranges::find(formats, std::string_view{extension}.substr(extension.empty() ? 0 : 1));
  return known == formats.end() ? "" : std::string{*known};
}

unique_fd open_text(const std::string& path) {
  unique_fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) throw failure{fmt::format("cannot read '{}'", path), errno};
  struct stat about {};
  if (::fstat(file.get(), &about) == 0 && S_ISDIR(about.st_mode)) {
    throw failure{fmt::format("cannot read '{}': it is a directory", path)};
  }
  return file;
}

void draw(const options& options) {
  const unique_fd input = open_text(options.file);
  output_file output{options.output, 0};
  std::string dot_output = run_dot(format_of(options.output), input.get(), output.descriptor());
  output.commit();
  std::ranges::replace(dot_output, '\n', ' ');
  if (!dot_output.empty()) fmt::print(stderr, "weir: 'dot' says: {}\n", dot_output);
}

}  // namespace

void add_graph(CLI::App& program) {
  const CLI::Validator has_format{[](const std::string& name) -> std::string {
                                    if (!format_of(name).empty()) return "";
                                    return fmt::format(
                                        "'{}' has to end with .svg, .png, .pdf or .dot", name);
                                  },
                                  ""};
  const auto parsed = std::make_shared<options>();
  CLI::App* const command = program.add_subcommand(
      "graph",
      "Draw a graph that was written in the DOT language (drawing_of(), dot()), with Graphviz");
  command->add_option("FILE", parsed->file, "The text")->check(refuse_empty)->required();
  command
      ->add_option("-o,--output", parsed->output,
                   "The picture: .svg, .png, .pdf, or .dot with places")
      ->check(refuse_empty)
      ->check(has_format)
      ->required();
  command->callback([parsed] { draw(*parsed); });
}

}  // namespace weir::tool
