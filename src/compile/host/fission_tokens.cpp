// SPDX-License-Identifier: Apache-2.0
// compile/host/fission_tokens.cpp - by what stands before and behind.
#include "compile/host/fission_tokens.hpp"

#include <algorithm>

namespace weir::compile {

bool one_of(const token& t, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), t.text) != words.end();
}

bool arithmetic(const token& t) {
  return one_of(t, {"int", "unsigned", "signed", "long", "short", "char", "bool", "float", "double",
                    "size_t", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t",
                    "uint32_t", "uint64_t", "uint"});
}

bool keyword(const token& t) {
  return one_of(t, {"return",   "if",      "for",   "while", "do",   "switch",  "break",
                    "continue", "delete",  "new",   "else",  "case", "default", "goto",
                    "sizeof",   "alignof", "throw", "not",   "and",  "or"});
}

bool mentions(std::string_view text, std::string_view name) {
  const auto of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || static_cast<unsigned char>(c) >= 128;
  };
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !of_name(text[at - 1])) && (end == text.size() || !of_name(text[end])))
      return true;
  }
  return false;
}

std::size_t body_tokens::past(std::size_t i, std::size_t end) const {
  int depth = 0;
  for (; i < end; ++i) {
    if (one_of(t_[i], {"(", "[", "{"})) ++depth;
    if (one_of(t_[i], {")", "]", "}"}) && --depth == 0) return i + 1;
  }
  throw not_understood{};
}

std::size_t body_tokens::past_statement(std::size_t i, std::size_t end) const {
  if (i >= end) throw not_understood{};
  if (t_[i].kind == token_kind::pragma) return past_statement(i + 1, end);
  if (is(i, "{")) return past(i, end);
  if (is(i, "if")) {
    const std::size_t k = past_statement(past(is(i + 1, "constexpr") ? i + 2 : i + 1, end), end);
    return k < end && is(k, "else") ? past_statement(k + 1, end) : k;
  }
  if (one_of(t_[i], {"for", "while", "switch"})) return past_statement(past(i + 1, end), end);
  if (is(i, "do")) i = past_statement(i + 1, end);
  while (i < end && !is(i, ";")) i = one_of(t_[i], {"(", "[", "{"}) ? past(i, end) : i + 1;
  if (i >= end) throw not_understood{};
  return i + 1;
}

bool body_tokens::contains(token_range r, std::string_view name) const {
  for (std::size_t i = r.begin; i < r.end; ++i)
    if (t_[i].identifier() && t_[i].is(name) && (i == 0 || !(is(i - 1, ".") || is(i - 1, "->"))))
      return true;
  return false;
}

bool body_tokens::may_declare(token_range r, std::string_view name) const {
  for (std::size_t i = r.begin; i < r.end; ++i)
    if (t_[i].is(name) && declares(i, r.begin)) return true;
  return false;
}

bool body_tokens::declares(std::size_t i, std::size_t begin) const {
  if (i == 0 || i + 1 >= t_.size()) return false;
  const token& before = t_[i - 1];
  if (!one_of(t_[i + 1], {"=", ";", ",", "[", "(", "{", ":", "]", "}"})) return false;
  if (before.identifier()) return !keyword(before);
  if (before.is(")")) return true;  // an attribute before it
  if (before.is("[") && !one_of(t_[i - 2], {"auto", "&", "&&"})) return false;  // no names of parts
  if (!one_of(before, {"*", "&", "&&", ">", ",", "[", "{"})) return false;
  std::size_t start = i;
  while (start > begin && !one_of(t_[start - 1], {";", "{", "}"}) &&
         t_[start - 1].kind != token_kind::pragma)
    --start;
  if (start > begin && is(start - 1, "{"))
    for (std::size_t k = start - 1; k > begin && !one_of(t_[k - 1], {";", "}"}); --k)
      if (is(k - 1, "enum")) return true;
  if (one_of(t_[start], {"for", "if", "while", "switch"}))
    start += is(start + 1, "constexpr") ? 3 : 2;
  return begins_declaration({start, i + 1});
}

bool body_tokens::begins_declaration(token_range s) const {
  std::size_t i = s.begin;
  if (i >= s.end || is(i, "[")) return i < s.end;  // an attribute
  if (!t_[i].identifier() || keyword(t_[i])) return false;
  if (one_of(t_[i], {"struct", "class", "union", "enum", "static", "typename", "constexpr", "const",
                     "extern", "auto", "decltype", "__attribute__", "alignas", "register",
                     "__shared__"}) ||
      arithmetic(t_[i]))
    return !(arithmetic(t_[i]) && is(i + 1, "("));
  for (++i; i < s.end && (is(i, "::") || is(i, "<")); ++i) {
    if (is(i, "::")) {
      ++i;
      continue;
    }
    int depth = 0;
    for (; i < s.end; ++i) {
      depth += is(i, "<") ? 1 : is(i, ">") ? -1 : 0;
      if (depth == 0) break;
    }
  }
  return i < s.end && (t_[i].identifier() || one_of(t_[i], {"*", "&", "&&"}));
}

bool body_tokens::leaves_loop(token_range r, bool in_switch) const {
  for (std::size_t i = r.begin; i < r.end;) {
    if (one_of(t_[i], {"for", "while", "do"})) {
      i = past_statement(i, r.end);
    } else if (is(i, "switch")) {
      const std::size_t end = past_statement(i, r.end);
      if (leaves_loop({i + 1, end}, true)) return true;
      i = end;
    } else if (is(i, "continue") || (is(i, "break") && !in_switch)) {
      return true;
    } else {
      ++i;
    }
  }
  return false;
}

bool body_tokens::divides(token_range r, const std::vector<std::string>& constants) const {
  for (std::size_t i = r.begin; i < r.end; ++i) {
    if (!one_of(t_[i], {"/", "%", "/=", "%="})) continue;
    const token& by = t_[i + 1];
    if (!(by.kind == token_kind::number || one_of(by, {"blockDim", "gridDim", "warpSize"}) ||
          std::find(constants.begin(), constants.end(), by.text) != constants.end()))
      return true;
  }
  return false;
}

bool body_tokens::assigns(std::size_t i) const {
  const token& t = t_[i];
  if (t.is("=")) return true;
  if (t.text.size() == 2 && t.text[1] == '=') return !one_of(t, {"==", "<=", ">=", "!="});
  if (one_of(t, {"<", ">"}) && t_[i + 1].is(t.text) && is(i + 2, "=")) return true;  // <<= as < < =
  if (one_of(t, {"<", ">"}) && one_of(t_[i + 1], {"<=", ">="}) && t_[i + 1].offset == t.end())
    return true;
  return one_of(t, {"+", "-"}) && t_[i + 1].is(t.text) && t_[i + 1].offset == t.end();
}

bool body_tokens::only_groups(std::size_t i) const {
  const token& before = t_[i - 1];
  return before.identifier() ? one_of(before, {"return", "case", "and", "or", "not"})
                             : !one_of(before, {")", "]", ">"});
}

bool body_tokens::takes_value(std::size_t i) const {
  const token& before = t_[i - 1];
  return one_of(before, {"if",   "while", "for",    "switch", "sizeof", "min",  "max",
                         "abs",  "fabsf", "sqrtf",  "rsqrtf", "expf",   "logf", "powf",
                         "sinf", "cosf",  "floorf", "ceilf",  "fminf",  "fmaxf"});
}

bool body_tokens::changes(std::size_t i, bool plain) const {
  std::size_t first = i, last = i;
  const auto members = [&] {  // a member of it is part of it
    while (is(last + 1, ".")) last += 2;
  };
  members();
  while (is(first - 1, "(") && is(last + 1, ")") && only_groups(first - 1)) {
    --first, ++last;
    members();
  }
  const token &before = t_[first - 1], &next = t_[last + 1];
  if (assigns(last + 1)) return true;
  if (one_of(before, {"+", "-"}) && t_[first - 2].is(before.text) &&
      t_[first - 2].end() == before.offset)
    return true;
  if (!plain && (next.is("(") || (next.is("[") && last == i))) return true;
  const token& earlier = t_[first - 2];
  if (before.is("&"))
    return earlier.is("return") || !(earlier.identifier() || earlier.kind == token_kind::number ||
                                     one_of(earlier, {")", "]"}));
  if (one_of(before, {"=", "{", "("}) && earlier.identifier() && one_of(t_[first - 3], {"&", "&&"}))
    return true;  // a reference to it
  if (before.is(":") && earlier.identifier() && one_of(t_[first - 3], {"&", "&&"}))
    return true;  // for (auto& e : it)
  return one_of(before, {"(", ","}) && one_of(next, {")", ","}) &&
         !(before.is("(") && takes_value(first - 1));
}

}  // namespace weir::compile
