// SPDX-License-Identifier: Apache-2.0
// compile/host/fission_tokens.hpp - questions about the tokens of a kernel's body: where statements
// end, what a name is used for.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "compile/host/scanner.hpp"

namespace weir::compile {

struct not_understood {};

[[nodiscard]] bool one_of(const token& t, std::initializer_list<std::string_view> words);
[[nodiscard]] bool arithmetic(const token& t);  // the name of an arithmetic type, or a part of it
[[nodiscard]] bool keyword(const token& t);  // that begins a statement, or stands before an operand
[[nodiscard]] bool mentions(std::string_view text, std::string_view name);  // as a whole word

class body_tokens {
 public:
  explicit body_tokens(const token_list& list) : t_{list.tokens} {}

  [[nodiscard]] const token& operator[](std::size_t i) const { return t_[i]; }
  [[nodiscard]] bool is(std::size_t i, std::string_view what) const {
    return i < t_.size() && t_[i].is(what);
  }

  // The token behind the bracket that closes the one at i, or behind the statement at i. Throw
  // not_understood.
  [[nodiscard]] std::size_t past(std::size_t i, std::size_t end) const;
  [[nodiscard]] std::size_t past_statement(std::size_t i, std::size_t end) const;

  // Is there such a name, not a member's?
  [[nodiscard]] bool contains(token_range r, std::string_view name) const;
  // May statements of the range declare it? Everything that could be a declaration counts.
  [[nodiscard]] bool may_declare(token_range r, std::string_view name) const;
  // A statement that begins as a declaration does.
  [[nodiscard]] bool begins_declaration(token_range statement) const;
  // A `break` or `continue` that leaves a loop around the range.
  [[nodiscard]] bool leaves_loop(token_range r, bool in_switch = false) const;

  // A division by what may be zero: no number, size of a block or grid, or constant of the
  // template.
  [[nodiscard]] bool divides(token_range r, const std::vector<std::string>& constants) const;

  // May what stands around the name at i change the value behind it? `plain`: it is a number or a
  // pointer, which has no functions of its own.
  [[nodiscard]] bool changes(std::size_t i, bool plain) const;

 private:
  [[nodiscard]] bool declares(std::size_t i,
                              std::size_t begin) const;  // may the name at i be declared there
  [[nodiscard]] bool assigns(std::size_t i) const;       // = += <<= ++
  [[nodiscard]] bool only_groups(std::size_t i) const;   // the ( at i
  [[nodiscard]] bool takes_value(
      std::size_t i) const;  // the ( at i is of a function that changes no argument

  const std::vector<token>& t_;
};

}  // namespace weir::compile
