// SPDX-License-Identifier: Apache-2.0
// compile/host/spinning.cpp - by the look of loops.
#include "compile/host/spinning.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace weir::compile {
namespace {

class loops {
 public:
  loops(const std::vector<token>& tokens, token_range range) : t_{tokens}, range_{range} {}

  [[nodiscard]] bool may_spin() const {
    const bool volatile_memory = contains(range_, [](const token& t) { return t.is("volatile"); });
    for (std::size_t i = range_.begin; i < range_.end; ++i) {
      const bool is_do = is(i, "do");
      if (!is_do && !is(i, "while") && !is(i, "for")) continue;
      const std::size_t body = is_do ? i + 1 : past(i + 1);
      if (is(i, "for") && !is_endless_for({i + 1, body})) continue;
      if (volatile_memory) return true;
      const token_range loop{i, past_statement(body)};
      if (is(i, "for") || is(i + 2, "true") || is(i + 2, "1")) {
        if (contains(loop, is_atomic)) return true;
      } else if (is_empty(body) && !(is(i, "while") && ends_a_do(i))) {
        return true;
      }
    }
    return false;
  }

 private:
  [[nodiscard]] bool is(std::size_t i, std::string_view what) const {
    return i < range_.end && t_[i].is(what);
  }

  template <class Test>
  [[nodiscard]] bool contains(token_range in, Test test) const {
    const auto first = t_.begin();
    return std::any_of(first + static_cast<std::ptrdiff_t>(in.begin),
                       first + static_cast<std::ptrdiff_t>(in.end), test);
  }
  static bool is_atomic(const token& t) {
    return t.identifier() && (t.text.starts_with("atomic") || t.is("load") || t.is("exchange") ||
                              t.text.starts_with("compare_exchange") || t.is("test_and_set"));
  }

  // Behind the bracket that closes the one at i, or i where there is none.
  [[nodiscard]] std::size_t past(std::size_t i) const {
    int depth = 0;
    for (; i < range_.end; ++i) {
      if (is(i, "(") || is(i, "[") || is(i, "{")) ++depth;
      if ((is(i, ")") || is(i, "]") || is(i, "}")) && --depth <= 0) return i + 1;
    }
    return range_.end;
  }
  [[nodiscard]] std::size_t past_statement(std::size_t i) const {
    if (is(i, "{")) return past(i);
    while (i < range_.end && !is(i, ";"))
      i = is(i, "(") || is(i, "[") || is(i, "{") ? past(i) : i + 1;
    return std::min(i + 1, range_.end);
  }

  [[nodiscard]] bool is_empty(std::size_t body) const {
    while (is(body, "{")) ++body;
    return is(body, ";") || is(body, "}");
  }
  // (;;), whatever it begins with and does after each round.
  [[nodiscard]] bool is_endless_for(token_range head) const {
    for (std::size_t i = head.begin; i + 1 < head.end; ++i) {
      if (is(i, ";")) return is(i + 1, ";");
    }
    return false;
  }
  // The while at i: the end of a do loop, which was looked at there?
  [[nodiscard]] bool ends_a_do(std::size_t i) const {
    for (std::size_t at = range_.begin; at < i; ++at) {
      if (is(at, "do") && past_statement(at + 1) == i) return true;
    }
    return false;
  }

  const std::vector<token>& t_;
  token_range range_;
};

}  // namespace

bool may_spin(const std::vector<token>& tokens, token_range range) {
  return loops{tokens, range}.may_spin();
}

}  // namespace weir::compile
