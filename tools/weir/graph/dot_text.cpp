// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/dot_text.cpp - parses the DOT language.
#include "graph/dot_text.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace weir::tool {
namespace {

constexpr std::size_t max_nesting = 100;

enum class token_kind : unsigned char { end, name, quoted, punctuation };

struct dot_token {
  token_kind kind = token_kind::end;
  std::string text;
  std::size_t line = 1;

  [[nodiscard]] bool is_punctuation(std::string_view other) const {
    return kind == token_kind::punctuation && text == other;
  }
  [[nodiscard]] bool is_id() const {
    return kind == token_kind::name || kind == token_kind::quoted;
  }
  // Keywords are case-independent. A quoted string is none.
  [[nodiscard]] bool is_keyword(std::string_view word) const {
    return kind == token_kind::name && std::ranges::equal(text, word, {}, [](char c) {
             return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
           });
  }
};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || static_cast<unsigned char>(c) >= 0x80;
}

// Divides a text into tokens.
class dot_lexer {
 public:
  dot_lexer(std::string_view text, const std::string& file) : text_{text}, file_{file} {}

  [[nodiscard]] dot_token next() {
    skip_space();
    if (position_ == text_.size()) return {token_kind::end, "the end of the file", line_};
    const char c = text_[position_];
    if (c == '"') return quoted();
    if (c == '<') return html();
    if (rest().starts_with("->") || rest().starts_with("--"))
      return {token_kind::punctuation, std::string{take(2)}, line_};
    if (is_name_character(c) || c == '-') return name();
    if (std::string_view{"{}[]=;,:"}.find(c) != std::string_view::npos)
      return {token_kind::punctuation, std::string{take(1)}, line_};
    fail(line_, fmt::format("unexpected character '{}'", c));
  }

  [[noreturn]] void fail(std::size_t line, const std::string& reason) const {
    throw failure{fmt::format("cannot read '{}', line {}: {}", file_, line, reason)};
  }

 private:
  [[nodiscard]] std::string_view rest() const { return text_.substr(position_); }

  // Returns the next `size` bytes and moves behind them.
  std::string_view take(std::size_t size) {
    const std::string_view taken = rest().substr(0, size);
    line_ += static_cast<std::size_t>(std::ranges::count(taken, '\n'));
    position_ += taken.size();
    return taken;
  }

  void skip_space() {
    while (position_ < text_.size()) {
      const bool begins_line = position_ == 0 || text_[position_ - 1] == '\n';
      if (std::string_view{" \t\r\n\f\v"}.find(text_[position_]) != std::string_view::npos) {
        take(1);
      } else if (rest().starts_with("//") || (begins_line && text_[position_] == '#')) {
        take(rest().find('\n'));
      } else if (rest().starts_with("/*")) {
        const std::size_t end = rest().find("*/", 2);
        if (end == std::string_view::npos) fail(line_, "the comment has no end");
        take(end + 2);
      } else {
        return;
      }
    }
  }

  dot_token name() {
    std::size_t size = 1;
    while (size < rest().size() && is_name_character(rest()[size])) ++size;
    return {token_kind::name, std::string{take(size)}, line_};
  }

  dot_token quoted() {
    dot_token token{token_kind::quoted, {}, line_};
    for (take(1); position_ < text_.size();) {
      const std::string_view part = take(rest().front() == '\\' ? 2 : 1);
      if (part == "\"") return token;
      if (part == "\\\"") {
        token.text += '"';
      } else if (part != "\\\n") {
        token.text += part;
      }
    }
    fail(token.line, "the quoted string has no end");
  }

  dot_token html() {
    dot_token token{token_kind::quoted, {}, line_};
    std::size_t depth = 0;
    std::size_t size = 0;
    for (const char c : rest()) {
      ++size;
      depth += c == '<' ? 1 : 0;
      if (c == '>' && --depth == 0) {
        token.text = take(size).substr(1, size - 2);
        return token;
      }
    }
    fail(token.line, "the HTML string has no end");
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
};

class dot_parser {
 public:
  dot_parser(std::string_view text, const std::string& file)
      : lexer_{text, file}, token_{lexer_.next()} {}

  [[nodiscard]] dot_graph parse() {
    if (token_.is_keyword("strict")) advance();
    if (!token_.is_keyword("digraph") && !token_.is_keyword("graph")) refuse("expected 'digraph'");
    advance();
    open(token_.is_id() ? take_id() : "");
    while (!open_.empty()) parse_statement();
    if (token_.kind != token_kind::end) refuse("expected the end of the file");
    return std::move(graph_);
  }

 private:
  [[noreturn]] void refuse(std::string_view expected) const {
    lexer_.fail(token_.line, fmt::format("{}, found {}", expected,
                                         token_.kind == token_kind::end ? token_.text
                                                                        : "'" + token_.text + "'"));
  }
  void advance() { token_ = lexer_.next(); }
  [[nodiscard]] bool take_punctuation(std::string_view text) {
    if (!token_.is_punctuation(text)) return false;
    advance();
    return true;
  }
  [[nodiscard]] std::string take_id() {
    if (!token_.is_id()) refuse("expected a name");
    std::string text = std::move(token_.text);
    advance();
    return text;
  }

  void open(std::string name) {
    if (!take_punctuation("{")) refuse("expected '{'");
    if (open_.size() == max_nesting) refuse("expected fewer subgraphs within subgraphs");
    graph_.subgraphs.push_back({std::move(name), open_.empty() ? 0 : open_.back(), {}});
    open_.push_back(graph_.subgraphs.size() - 1);
  }

  void parse_statement() {
    if (take_punctuation(";") || take_punctuation(",")) return;
    if (take_punctuation("}")) {
      open_.pop_back();
      if (token_.is_punctuation("->")) refuse("expected no edge from a subgraph");
    } else if (token_.is_punctuation("{")) {
      open("");
    } else if (token_.is_keyword("subgraph")) {
      advance();
      open(token_.is_id() ? take_id() : "");
    } else if (token_.is_keyword("node") || token_.is_keyword("edge")) {
      advance();
      dot_values defaults;
      parse_attributes(defaults);
    } else if (token_.is_keyword("graph")) {
      advance();
      parse_attributes(graph_.subgraphs[open_.back()].attributes);
    } else {
      parse_named_statement();
    }
  }

  // Parses `name = value`, a node or a chain of edges.
  void parse_named_statement() {
    std::string name = take_id();
    if (take_punctuation("=")) {
      graph_.subgraphs[open_.back()].attributes[name] = take_id();
      return;
    }
    std::size_t last = node_of(std::move(name));
    const std::size_t first_edge = graph_.edges.size();
    while (take_punctuation("->") || take_punctuation("--")) {
      const std::size_t target = node_of(take_id());
      graph_.edges.push_back({last, target, {}});
      last = target;
    }
    if (first_edge == graph_.edges.size()) {
      if (declared_.insert(last).second) graph_.nodes[last].subgraph = open_.back();
      return parse_attributes(graph_.nodes[last].attributes);
    }
    dot_values attributes;
    parse_attributes(attributes);
    for (std::size_t i = first_edge; i < graph_.edges.size(); ++i)
      graph_.edges[i].attributes = attributes;
  }

  // Returns the index of the node with this name. Skips a port after the name.
  [[nodiscard]] std::size_t node_of(std::string name) {
    while (take_punctuation(":")) static_cast<void>(take_id());
    const auto [found, added] = index_of_node_.try_emplace(name, graph_.nodes.size());
    if (added) graph_.nodes.push_back({std::move(name), open_.back(), {}});
    return found->second;
  }

  void parse_attributes(dot_values& attributes) {
    while (take_punctuation("[")) {
      while (!take_punctuation("]")) {
        if (take_punctuation(";") || take_punctuation(",")) continue;
        const std::string name = take_id();
        attributes[name] = take_punctuation("=") ? take_id() : "true";
      }
    }
  }

  dot_lexer lexer_;
  dot_token token_;
  dot_graph graph_;
  std::vector<std::size_t> open_;  // the subgraphs that are not yet closed
  std::unordered_map<std::string, std::size_t> index_of_node_;
  std::unordered_set<std::size_t> declared_;  // the nodes with a statement of their own
};

}  // namespace

std::string_view value_of(const dot_values& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? std::string_view{} : found->second;
}

dot_graph parse_dot(std::string_view text, const std::string& file) {
  return dot_parser{text, file}.parse();
}

}  // namespace weir::tool
