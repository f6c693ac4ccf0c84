// SPDX-License-Identifier: Apache-2.0
// compile/host/fission_variables.cpp - what is known of each, and how it is written in the loops.
#include "compile/host/fission_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::compile {

fission_variables::fission_variables(const token_list& list, const scan_result& found,
                                     const kernel_text& kernel)
    : t_{list}, found_{found}, k_{kernel} {
  read_parameters();
}

void fission_variables::read_parameters() {
  std::size_t from = k_.parameters.begin;
  int depth = 0;
  for (std::size_t i = from; i <= k_.parameters.end; ++i) {
    const bool end = i == k_.parameters.end;
    if (!end && one_of(t_[i], {"(", "[", "{", "<"})) ++depth;
    if (!end && one_of(t_[i], {")", "]", "}", ">"})) --depth;
    if (!end && (depth != 0 || !t_.is(i, ","))) continue;
    if (from < i) read_parameter({from, i});
    if (!end) parameters_ += ", ";
    from = i + 1;
  }
}

void fission_variables::read_parameter(token_range r) {
  std::size_t end = r.begin;  // of what is declared, without a default
  int depth = 0;
  for (; end < r.end && !(depth == 0 && t_.is(end, "=")); ++end) {
    if (one_of(t_[end], {".", "("})) throw not_understood{};  // a pack, a pointer to a function
    depth += t_.is(end, "<") ? 1 : t_.is(end, ">") ? -1 : 0;
  }
  while (end > r.begin && one_of(t_[end - 1], {"__grid_constant__"})) --end;
  std::size_t name = end;
  while (name > r.begin && !t_.is(name, "[")) --name;
  const bool is_array = t_.is(name, "[");
  name = is_array ? name - 1 : end - 1;
  const bool named =
      name > r.begin && t_[name].identifier() && !arithmetic(t_[name]) &&
      !one_of(t_[name - 1], {"const", "struct", "class", "union", "enum", "typename", "::"});
  parameter p;
  bool constant = false;
  for (std::size_t i = r.begin; i < end; ++i) {
    if (one_of(t_[i], {"__host__", "__device__", "__grid_constant__"})) continue;
    constant = t_.is(i, "*") ? false : constant || t_.is(i, "const");
    p.plain = p.plain || arithmetic(t_[i]) || t_.is(i, "*");
    if (named && i == name) {
      p.name = t_[i].text;
      p.stored = modified(p.name, p.plain);
      if (p.stored && is_array) throw not_understood{};
      if (!p.stored && !constant && !is_array) parameters_ += "const ";
    }
    parameters_ += std::string(t_[i].text) + " ";
  }
  // A const before the name, of a parameter without one that is seen as its type's last word.
  if (!named && end - r.begin > 1 && t_[end - 1].identifier() && !arithmetic(t_[end - 1]) &&
      t_.is(end - 2, "const"))
    return;
  if (!named) return;
  if (p.stored) make_room(p);
  of_kernel_.push_back(std::move(p));
}

void fission_variables::make_room(const parameter& p) {
  const std::string array = fmt::format("weir_of_{}_{}", p.name, next_++);
  if (++arrays_ > 16) throw not_understood{};
  beginning_ += fmt::format(
      " typename weir_room<decltype({0})>::type {1}[1024]; static_assert(sizeof {1} <= 131072 && "
      "__is_trivially_copyable(decltype({0})), "
      "\"\");"
      " for (unsigned weir_t = 0; weir_t < weir_nx * weir_ny * weir_nz; ++weir_t)"
      " __builtin_memcpy((void*)&{1}[weir_t], &{0}, sizeof {0});",
      p.name, array);
  visible_.push_back({variable::in_array, p.name, array, false});
}

std::string fission_variables::assertions() const {
  std::string text;
  for (const std::string& each : asserted_)
    text += fmt::format(" static_assert(weir_plain<decltype({})>::value, \"\");", each);
  return text;
}

bool fission_variables::modified(std::string_view name, bool plain) const {
  for (std::size_t i = k_.body.begin; i < k_.body.end; ++i) {
    if (!t_[i].is(name) || t_.is(i - 1, ".") || t_.is(i - 1, "->") || t_.is(i - 1, "::")) continue;
    // Where it is declared, or a variable of the same name.
    const token& before = t_[i - 1];
    if ((before.identifier() && !keyword(before) && t_.is(i + 1, "=")) ||
        (one_of(before, {"*", ">", ","}) && t_.is(i + 1, "=")))
      continue;
    if (t_.changes(i, plain)) return true;
  }
  return false;
}

const fission_variables::variable* fission_variables::seen(std::string_view name) const {
  const auto v = std::find_if(visible_.rbegin(), visible_.rend(),
                              [&](const variable& each) { return each.name == name; });
  return v != visible_.rend() ? &*v : nullptr;
}
const fission_variables::parameter* fission_variables::parameter_of(std::string_view name) const {
  const auto p = std::find_if(of_kernel_.begin(), of_kernel_.end(),
                              [&](const parameter& x) { return x.name == name; });
  return p != of_kernel_.end() ? &*p : nullptr;
}

bool fission_variables::declared_in(const statements& region, std::string_view name) const {
  return std::any_of(region.begin(), region.end(), [&](token_range s) {
    return t_.begins_declaration(s) && t_.may_declare(s, name);
  });
}

bool fission_variables::pure(token_range r, bool threads, const statements& region,
                             std::string_view own) {
  for (std::size_t i = r.begin; i < r.end; ++i) {
    const token& t = t_[i];
    if (t.kind == token_kind::number || t.is(own)) continue;
    if (t.identifier()) {
      if (!pure_name(i, threads, region)) return false;
      continue;
    }
    if (t.kind != token_kind::symbol || one_of(t, {"=", "[", "]", "{", "}", "->", ";"}))
      return false;
    if (t.text.size() == 2 && t.text[1] == '=' && !one_of(t, {"==", "<=", ">=", "!="}))
      return false;
    const bool operand_before =
        i > r.begin &&
        (t_[i - 1].identifier() || t_[i - 1].kind == token_kind::number || t_.is(i - 1, ")"));
    if (one_of(t, {"*", "&"}) && !operand_before) return false;
    if (one_of(t, {"+", "-"}) && i + 1 < r.end && t_[i + 1].is(t.text) &&
        t_[i + 1].offset == t.end())
      return false;
  }
  return true;
}

bool fission_variables::pure_name(std::size_t i, bool threads, const statements& region) {
  const token& t = t_[i];
  const bool called = t_.is(i + 1, "(");
  if (t_.is(i - 1, ".")) return !called;  // a member of what was looked at
  if (arithmetic(t) || one_of(t, {"const", "static_cast", "sizeof", "true", "false", "nullptr"}))
    return true;
  if (keyword(t)) return false;
  if (declared_in(region, t.text)) return false;
  if (const variable* v = seen(t.text); v != nullptr)
    return !called && v->how != variable::in_array && (v->how == variable::uniform || threads);
  if (const parameter* p = parameter_of(t.text); p != nullptr) {
    if (called) return false;
    if (!p->plain || t_.is(i + 1, ".")) assert_plain(i);
    return true;
  }
  // What is left is declared outside of the kernel.
  if (t_.may_declare(k_.body, t.text)) return false;
  if (one_of(t, {"blockIdx", "blockDim", "gridDim", "warpSize"})) return true;
  if (t.is("threadIdx")) return threads;
  if (called) return one_of(t, {"min", "max"}) && !found_.names.contains(t.text);
  if (shared_.contains(t.text)) return false;
  for (const variable_text& v : found_.variables)
    if (v.name == t.text && v.memory != memory_kind::constant) return false;
  if (t_.is(i + 1, ".")) assert_plain(i);
  return true;
}

// The type of the name at i with the members behind it.
void fission_variables::assert_plain(std::size_t i) {
  std::string text(t_[i].text);
  for (; t_.is(i + 1, "."); i += 2) text += "." + std::string(t_[i + 2].text);
  asserted_.insert(std::move(text));
}

// Texts that are written again further in have to mean the same there.
void fission_variables::push(variable v) {
  if (seen(v.name) != nullptr || parameter_of(v.name) != nullptr) throw not_understood{};
  for (const variable& each : visible_)
    if (each.how == variable::again && mentions(each.text, v.name)) throw not_understood{};
  visible_.push_back(std::move(v));
}

void fission_variables::add_uniform(std::string_view name) {
  push({variable::uniform, std::string(name), {}, false});
}

bool fission_variables::contains_return(const statements& region) const {
  return std::any_of(region.begin(), region.end(),
                     [this](token_range s) { return t_.contains(s, "return"); });
}

bool fission_variables::same(token_range r, std::string_view own) {
  return !(left_ && t_.divides(r, k_.template_parameters)) && pure(r, false, {}, own);
}

bool fission_variables::known(token_range s, const statements& region, std::string& hoisted) {
  const std::optional<declaration_text> d = declaration_of(t_, s);
  if (!d) return false;
  const auto free_of = [&](token_range r) {
    for (std::size_t i = r.begin; i < r.end; ++i)
      if (t_[i].identifier() && declared_in(region, t_[i].text)) return false;
    return true;
  };
  for (const declarator& v : d->declarators)
    if (std::any_of(region.begin(), region.end(),
                    [&](token_range r) { return t_.contains(r, t_[v.name].text); }))
      return false;
  if (d->is_static || d->is_constexpr) {  // a constant of the compiler, or there is an error
    if (!free_of(s)) return false;
    if (d->is_static && !d->is_constexpr) hoisted += " constexpr";
    hoisted += " " + plain(s);
    for (const declarator& v : d->declarators) add_uniform(t_[v.name].text);
    return true;
  }
  if (found_.classes.contains(d->type)) return false;
  const bool may_have_left = contains_return(region);
  const std::size_t before = mark();
  std::vector<variable> all;
  for (const declarator& v : d->declarators) {
    const std::string name(t_[v.name].text);
    const bool constant = d->constant && v.pointers.empty();
    const bool divides = t_.divides(v.value, k_.template_parameters);
    const bool uniform = !(divides && left_) && pure(v.value, false, region);
    if (!v.assigned || v.reference || v.is_array() || (divides && may_have_left) ||
        (!constant && modified(name, d->plain(v))) || !pure(v.value, true, region)) {
      leave(before);
      return false;
    }
    std::string text = fmt::format("__attribute__((unused)) {}{} {} {} = {};", d->base, v.pointers,
                                   constant ? "" : "const", name, plain(v.value));
    if (!d->plain(v))
      text += fmt::format(" static_assert(weir_plain<decltype({})>::value, \"\");", name);
    all.push_back({uniform ? variable::uniform : variable::again, name, std::move(text), false});
    visible_.push_back(all.back());
  }
  leave(before);
  for (variable& v : all) {
    if (v.how == variable::uniform) hoisted += " " + std::exchange(v.text, {});
    push(std::move(v));
  }
  return true;
}

std::string fission_variables::stored(const declaration_text& d, std::string& arrays) {
  if (d.is_auto || d.is_static || visible_.size() > 64) throw not_understood{};
  std::string text;
  for (const declarator& v : d.declarators) {
    if (v.reference || ++arrays_ > 16) throw not_understood{};
    std::string type = d.base + v.pointers;
    if (v.pointers.empty() && type.starts_with("const ")) type = type.substr(6);
    const std::string name(t_[v.name].text), array = fmt::format("weir_of_{}_{}", name, next_++);
    const std::string extents = plain(v.extents);
    // As bytes: constructors run where the declaration stands.
    arrays += fmt::format(
        " typename weir_room<{}{}>::type {}[1024]; static_assert(sizeof {} <= 131072, \"\");", type,
        extents, array, array);
    text += fmt::format("auto& {} = weir_in({}[weir_t]); ", name, array);
    const bool simple = d.plain(v) && !v.is_array();
    if (simple && v.initialized && v.assigned && !t_.is(v.value.begin, "{")) {
      text += name + " = " + plain(v.value) + "; ";
    } else if (v.initialized || !d.plain(v)) {
      const std::string made = fmt::format("weir_made_{}", next_++);
      text += fmt::format(
          "{} {}{}{}{}; static_assert(__is_trivially_copyable(decltype({})), \"\"); "
          "__builtin_memcpy((void*)&{}, &{}, sizeof {}); ",
          type, made, extents, v.assigned ? " = " : "", plain(v.value), made, name, made, name);
    }
    push({variable::in_array, name, array, d.constant && v.pointers.empty()});
  }
  return text;
}

std::string fission_variables::shared(token_range s, bool in_loop) {
  // The block runs in one call, so what outlives no turn of a loop lies on its stack: no loop asks
  // where the thread's own memory is, and the compiler sees that nothing else points there.
  const std::string_view storage = in_loop ? "static __thread " : "";
  std::string text = " ";
  bool before = true;
  int depth = 0;
  for (std::size_t i = s.begin; i < s.end; ++i) {
    if (t_.is(i, "static")) continue;
    if (t_.is(i, "{") && before) throw not_understood{};  // it stands within something else
    if (t_.is(i, "(") || t_.is(i, "[")) ++depth;
    if (t_.is(i, ")") || t_.is(i, "]")) --depth;
    if (depth == 0 && t_[i].identifier() && one_of(t_[i + 1], {"[", ";", ","}))
      shared_.insert(std::string(t_[i].text));
    if (t_.is(i, "__shared__"))
      text += std::exchange(before, false) ? storage : "";
    else
      text += std::string(t_[i].text) + " ";
  }
  return text;
}

std::string fission_variables::bound(const statements& region, std::size_t at) const {
  std::set<std::string_view> wanted;
  for (const token_range s : region)
    for (std::size_t i = s.begin; i < s.end; ++i)
      if (t_[i].identifier()) wanted.insert(t_[i].text);
  // Those that are computed again may need each other, the later the earlier.
  std::string arrays;
  std::vector<std::string_view> texts;
  for (std::size_t i = at; i-- > 0;) {
    const variable& v = visible_[i];
    if (!wanted.contains(v.name) || v.how == variable::uniform) continue;
    if (v.how == variable::in_array) {
      arrays += fmt::format("{}auto& {} = weir_in({}[weir_t]); ", v.constant ? "const " : "",
                            v.name, v.text);
      continue;
    }
    texts.emplace_back(v.text);
    for (std::size_t k = 0; k < i; ++k)
      if (mentions(v.text, visible_[k].name)) wanted.insert(visible_[k].name);
  }
  std::string text = std::move(arrays);
  std::ranges::reverse(texts);
  for (const std::string_view each : texts) text += std::string(each) + " ";
  return text;
}

std::string fission_variables::room() const {
  std::string sum;
  for (const variable& v : visible_)
    if (v.how == variable::in_array) sum += " + sizeof " + v.text;
  return sum.empty() ? sum : " static_assert(0" + sum + " <= 524288, \"\");";
}

std::string fission_variables::plain(token_range r, std::string_view leaving) const {
  std::string text;
  for (std::size_t i = r.begin; i < r.end; ++i) {
    const token& t = t_[i];
    if (t.kind == token_kind::pragma || one_of(t, {"__device__", "__host__", "__forceinline__"}))
      continue;
    if (i > r.begin && t.offset != t_[i - 1].end()) text += ' ';
    if (t.is("return")) {
      if (leaving.empty() || !t_.is(i + 1, ";")) throw not_understood{};
      text += leaving;
    } else if (one_of(t, {"__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"})) {
      text += "\"" + k_.name + "\"";
    } else {
      text += t.is("__shared__") ? "static __thread" : t.text;
    }
  }
  return text;
}

}  // namespace weir::compile
