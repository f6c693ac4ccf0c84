// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/graph.cpp - the command `weir graph`: its options and its steps.
#include "graph/graph.hpp"

#include "failure.hpp"
#include "graph/dot_text.hpp"
#include "graph/drawing.hpp"
#include "graph/drawn_graph.hpp"
#include "graph/graphviz.hpp"
#include "job_options.hpp"
#include "output_file.hpp"
#include "unique_fd.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace weir::tool {
namespace {

struct graph_options {
  std::string file;
  std::string output;
  std::string format;  // empty: by the extension of the output
  drawing_options drawing;
};

constexpr std::array<std::string_view, 4> formats{"svg", "png", "pdf", "dot"};

// The format of an output file by its extension; empty for an unknown extension. Standard output
// has the format svg.
std::string format_of(const std::string& output) {
  if (is_standard_stream(output)) return "svg";
  const std::string extension = std::filesystem::path{output}.extension();
  const auto known =
      std::ranges::find(formats, std::string_view{extension}.substr(extension.empty() ? 0 : 1));
  return known == formats.end() ? "" : std::string{*known};
}

std::string read_text(const std::string& path) {
  const unique_fd file{is_standard_stream(path) ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                                : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) throw failure{fmt::format("cannot read '{}'", path), errno};
  std::string text;
  std::array<char, 1 << 16> part;
  while (true) {
    const ssize_t size = ::read(file.get(), part.data(), part.size());
    if (size < 0) throw failure{fmt::format("cannot read '{}'", path), errno};
    if (size == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
}

void draw(const graph_options& options) {
  const dot_graph text = parse_dot(read_text(options.file), options.file);
  const std::string drawing = drawing_of(read_drawn_graph(text), options.drawing);
  output_file output{options.output, 0};
  const std::string format = options.format.empty() ? format_of(options.output) : options.format;
  std::string warnings = run_dot(format, drawing, output.descriptor());
  output.commit();
  std::ranges::replace(warnings, '\n', ' ');
  if (!warnings.empty()) fmt::print(stderr, "weir: 'dot' says: {}\n", warnings);
}

void add_drawing_options(CLI::App& command, drawing_options& parsed) {
  command
      .add_option_function<std::string>(
          "--direction",
          [&parsed](const std::string& name) {
            parsed.direction = name == "right" ? drawing_direction::right : drawing_direction::down;
          },
          "Where later nodes are: further down, or further to the right")
      ->check(CLI::IsMember({"down", "right"}))
      ->default_str("down");
  command
      .add_option("--fold-above", parsed.fold_above,
                  "A graph with more nodes than this has one box for a repeated sequence")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_flag_callback(
      "--no-fold", [&parsed] { parsed.fold_above = std::numeric_limits<std::size_t>::max(); },
      "Draw a box for each node");
  command.add_flag_callback(
      "--no-call-sites", [&parsed] { parsed.call_sites = false; },
      "Omit the source lines that added the nodes");
  command.add_flag_callback(
      "--no-legend", [&parsed] { parsed.legend = false; }, "Omit the meanings of the colours");
}

}  // namespace

void add_graph(CLI::App& program) {
  const CLI::Validator has_format{[](const std::string& name) -> std::string {
                                    if (!format_of(name).empty()) return "";
                                    return fmt::format(
                                        "'{}' has to end with .svg, .png, .pdf or .dot", name);
                                  },
                                  ""};
  const auto parsed = std::make_shared<graph_options>();
  CLI::App* const command = program.add_subcommand(
      "graph", "Draw a graph that a driver described (dot(), write_dot()), with Graphviz");
  command
      ->add_option("FILE", parsed->file,
                   "The description in the DOT language; - for standard input")
      ->check(refuse_empty)
      ->required();
  command
      ->add_option("-o,--output", parsed->output,
                   "The picture: .svg, .png, .pdf, or .dot with places; - for standard output")
      ->check(refuse_empty)
      ->check(has_format)
      ->required();
  command
      ->add_option("--format", parsed->format,
                   "svg, png, pdf or dot; default: the extension of the output, svg for -")
      ->check(CLI::IsMember({"svg", "png", "pdf", "dot"}));
  add_drawing_options(*command, parsed->drawing);
  command->callback([parsed] { draw(*parsed); });
}

}  // namespace weir::tool
