// SPDX-License-Identifier: Apache-2.0
// compile/host/fission_declaration.cpp - specifiers, then declarators with commas between.
#include "compile/host/fission_declaration.hpp"

namespace weir::compile {
namespace {

// The specifiers from i on. False where there is no type among them.
bool specifiers(const body_tokens& t, std::size_t& i, std::size_t end, declaration_text& d) {
  bool type = false;
  while (i < end) {
    if (one_of(t[i], {"const", "constexpr", "static"})) {
      d.is_static = d.is_static || t.is(i, "static");
      d.is_constexpr = d.is_constexpr || t.is(i, "constexpr");
      d.constant = d.constant || !t.is(i, "static");
      if (t.is(i, "const")) d.base += "const ";
      ++i;
    } else if (one_of(t[i], {"register", "extern", "typename", "struct", "class", "union", "enum",
                             "decltype", "__shared__", "__attribute__", "alignas"})) {
      return false;
    } else if (t[i].identifier() && (!type || arithmetic(t[i]))) {
      if (keyword(t[i])) return false;
      d.is_auto = d.is_auto || t.is(i, "auto");
      const bool builtin = arithmetic(t[i]);
      d.is_arithmetic = d.is_arithmetic || builtin;
      d.type = t[i].text;
      d.base += std::string(t[i].text) + " ";
      ++i;
      while (!builtin && i + 1 < end && t.is(i, "::")) {
        d.type = t[i + 1].text;
        d.base += "::" + d.type + " ";
        i += 2;
      }
      if (!builtin && t.is(i, "<")) {
        int depth = 0;
        do {
          depth += t.is(i, "<") ? 1 : t.is(i, ">") ? -1 : 0;
          d.base += std::string(t[i].text) + " ";
        } while (++i < end && depth > 0 && !one_of(t[i], {";", "=", "{"}));
      }
      type = true;
    } else {
      break;
    }
  }
  return type;
}

}  // namespace

std::optional<declaration_text> declaration_of(const body_tokens& t, token_range r) {
  std::size_t i = r.begin;
  declaration_text d;
  if (!specifiers(t, i, r.end, d)) return std::nullopt;
  while (i < r.end) {
    declarator one{};
    while (i < r.end && one_of(t[i], {"*", "&", "&&", "const", "__restrict__"})) {
      one.reference = one.reference || one_of(t[i], {"&", "&&"});
      if (t.is(i, "*")) one.pointers += "*";
      if (t.is(i, "const") && i + 1 < r.end && t.is(i + 1, "*")) one.pointers += "const";
      ++i;
    }
    if (i >= r.end || !t[i].identifier()) return std::nullopt;
    one.name = i++;
    one.extents.begin = i;
    while (t.is(i, "[")) i = t.past(i, r.end);
    one.extents.end = i;
    const std::size_t from = i;
    if (t.is(i, "=")) one.assigned = true, ++i;
    one.value.begin = i;
    if (!one.assigned && i < r.end && !one_of(t[i], {"(", "{", ",", ";"})) return std::nullopt;
    int angle = 0;
    while (i < r.end && !t.is(i, ";") && !(t.is(i, ",") && angle <= 0))
      i = one_of(t[i], {"(", "[", "{"}) ? t.past(i, r.end) : i + 1;
    one.value.end = i;
    one.initialized = i > from;
    d.declarators.push_back(one);
    if (i >= r.end) return std::nullopt;
    if (t.is(i, ";")) return i + 1 == r.end ? std::optional{d} : std::nullopt;
    ++i;
  }
  return std::nullopt;
}

}  // namespace weir::compile
