// SPDX-License-Identifier: Apache-2.0
// compile/host/token.cpp - from characters to tokens.
#include "compile/host/token.hpp"

#include <algorithm>
#include <charconv>

namespace weir::compile {
namespace {

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 128;
}
bool digit(char c) { return c >= '0' && c <= '9'; }
// \u00f6, as preprocessors write letters that are not ASCII's.
bool universal(std::string_view s, std::size_t at) {
  return at + 1 < s.size() && s[at] == '\\' && (s[at + 1] == 'u' || s[at + 1] == 'U');
}

class lexer {
 public:
  explicit lexer(std::string_view source) : s_{source} {}

  token_list run() {
    while (at_ < s_.size()) {
      if (line_begins_ && directive()) continue;
      if (system_) {
        skip_line();
        continue;
      }
      const char c = s_[at_];
      if (c == '\n') {
        ++at_, ++line_, line_begins_ = true;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++at_;
      } else {
        line_begins_ = false;
        one();
      }
    }
    return std::move(list_);
  }

 private:
  void add(token_kind kind, std::size_t from) {
    list_.tokens.push_back({kind, s_.substr(from, at_ - from), from, line_, file_});
  }

  void skip_line() {
    const std::size_t end = s_.find('\n', at_);
    at_ = end == s_.npos ? s_.size() : end + 1;
    ++line_;
    line_begins_ = true;
  }

  // A line marker or a pragma.
  bool directive() {
    std::size_t i = at_;
    while (i < s_.size() && (s_[i] == ' ' || s_[i] == '\t')) ++i;
    if (i >= s_.size() || s_[i] != '#') return false;
    const std::size_t end = std::min(s_.find('\n', i), s_.size());
    const std::string_view rest = s_.substr(i + 1, end - i - 1);
    if (rest.size() > 1 && rest[0] == ' ' && digit(rest[1])) {
      marker(rest.substr(1));
      at_ = std::min(end + 1, s_.size());
      return true;
    }
    if (!system_) {
      at_ = end;
      add(token_kind::pragma, i);
    }
    at_ = end;
    skip_line();
    return true;
  }

  // N "file" flags: the next line is line N of the file.
  void marker(std::string_view text) {
    std::from_chars(text.data(), text.data() + text.size(), line_);
    const std::size_t open = text.find('"'), close = text.rfind('"');
    if (open == text.npos || close <= open) return;
    const std::string_view flags = text.substr(close + 1);
    std::string name;
    for (std::size_t i = open + 1; i < close; ++i) {
      if (text[i] == '\\' && i + 1 < close) ++i;
      name += text[i];
    }
    const auto found = std::find(list_.files.begin(), list_.files.end(), name);
    file_ = static_cast<unsigned>(found - list_.files.begin());
    if (found == list_.files.end()) {
      // A file is what its first marker says: later ones have a 3 where a macro of a system's
      // header stands in it.
      list_.files.push_back(std::move(name));
      of_system_.push_back(flags.find('3') != flags.npos);
    }
    system_ = of_system_[file_];
  }

  void one() {
    const std::size_t from = at_;
    const char c = s_[at_];
    if (begins_name(c) || universal(s_, at_)) {
      while (at_ < s_.size() && (begins_name(s_[at_]) || digit(s_[at_]) || universal(s_, at_)))
        ++at_;
      const std::string_view name = s_.substr(from, at_ - from);
      if (at_ < s_.size() && s_[at_] == '"' &&
          (name == "R" || name == "u8R" || name == "uR" || name == "UR" || name == "LR"))
        return raw(from);
      if (at_ < s_.size() && (s_[at_] == '"' || s_[at_] == '\'') &&
          (name == "u8" || name == "u" || name == "U" || name == "L"))
        return quoted(from);
      return add(token_kind::identifier, from);
    }
    if (digit(c) || (c == '.' && at_ + 1 < s_.size() && digit(s_[at_ + 1]))) return number(from);
    if (c == '"' || c == '\'') return quoted(from);
    ++at_;
    const char d = at_ < s_.size() ? s_[at_] : '\0';
    const bool pair =
        (c == ':' && d == ':') || (c == '-' && d == '>') || (c == '&' && d == '&') ||
        (c == '|' && d == '|') ||
        (d == '=' && std::string_view{"=!<>+-*/%&|^"}.find(c) != std::string_view::npos);
    if (pair) ++at_;
    add(token_kind::symbol, from);
  }

  void number(std::size_t from) {
    while (at_ < s_.size()) {
      const char c = s_[at_];
      const char before = s_[at_ - (at_ > from ? 1 : 0)];
      const bool exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
      const bool separator =
          c == '\'' && at_ + 1 < s_.size() && (begins_name(s_[at_ + 1]) || digit(s_[at_ + 1]));
      if (!(begins_name(c) || digit(c) || c == '.' || separator ||
            ((c == '+' || c == '-') && exponent)))
        break;
      ++at_;
    }
    add(token_kind::number, from);
  }

  void quoted(std::size_t from) {
    const char mark = s_[at_++];
    while (at_ < s_.size() && s_[at_] != mark && s_[at_] != '\n') at_ += s_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, s_.size());
    add(token_kind::text, from);
  }

  void raw(std::size_t from) {
    const std::size_t open = std::min(s_.find('(', at_), s_.size() - 1);
    const std::string close = ")" + std::string(s_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t end = s_.find(close, open);
    at_ = end == s_.npos ? s_.size() : end + close.size();
    add(token_kind::text, from);
    line_ += static_cast<unsigned>(std::count(s_.begin() + static_cast<std::ptrdiff_t>(from),
                                              s_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
  }

  std::string_view s_;
  std::size_t at_ = 0;
  unsigned line_ = 1;
  unsigned file_ = 0;
  bool system_ = false;
  bool line_begins_ = true;
  token_list list_{{}, {""}};
  std::vector<bool> of_system_{false};
};

}  // namespace

token_list tokens_of(std::string_view source) { return lexer{source}.run(); }

}  // namespace weir::compile
