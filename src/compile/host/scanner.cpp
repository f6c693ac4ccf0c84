// SPDX-License-Identifier: Apache-2.0
// compile/host/scanner.cpp - walks the declarations of namespaces and classes. One class, and
// longer than others here: a declaration is told from another only while it is read, so that all
// kinds of them share the head that has been read so far.
#include "compile/host/scanner.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "compile/host/names.hpp"

namespace weir::compile {
namespace {

constexpr auto none = static_cast<std::size_t>(-1);

bool any_of(const token& t, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), t.text) != words.end();
}

// Words before a declarator that take parentheses and are no declarator themselves.
bool takes_parentheses(const token& t) {
  return any_of(t, {"__attribute__", "__attribute", "__launch_bounds__", "__cluster_dims__",
                    "__maxnreg__", "alignas", "decltype", "noexcept", "explicit", "requires",
                    "__declspec", "static_assert", "_Static_assert"});
}

class walker {
 public:
  explicit walker(const token_list& list) : t_{list.tokens} {
    found_.groups = std::any_of(list.files.begin(), list.files.end(), [](const std::string& file) {
      return file.find("cooperative_groups") != file.npos;
    });
  }

  scan_result run() {
    scope({0, t_.size()}, "", false);
    follow_names(t_, std::move(entities_), found_);
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is(std::size_t i, std::string_view what) const {
    return i < t_.size() && t_[i].is(what);
  }

  // The token behind the bracket that closes the one at i; the end where there is none.
  [[nodiscard]] std::size_t past(std::size_t i, std::size_t end) const {
    int depth = 0;
    for (; i < end; ++i) {
      if (any_of(t_[i], {"(", "[", "{"})) ++depth;
      if (any_of(t_[i], {")", "]", "}"}) && --depth == 0) return i + 1;
    }
    return end;
  }
  // The same for < at i, in a declaration: parentheses within hold what they like.
  [[nodiscard]] std::size_t past_angle(std::size_t i, std::size_t end) const {
    int depth = 0;
    while (i < end) {
      if (any_of(t_[i], {"(", "[", "{"})) {
        i = past(i, end);
        continue;
      }
      if (is(i, "<")) ++depth;
      if (is(i, ">") && --depth == 0) return i + 1;
      if (any_of(t_[i], {";", "}"})) return i;
      ++i;
    }
    return end;
  }

  void scope(token_range range, const std::string& name, bool in_class) {
    std::size_t i = range.begin;
    while (i < range.end) {
      if (t_[i].kind == token_kind::pragma || any_of(t_[i], {";", "}"})) {
        ++i;
      } else if (is(i, "namespace") || (is(i, "inline") && is(i + 1, "namespace"))) {
        i = name_space(i, range.end, name);
      } else if (is(i, "extern") && i + 1 < range.end && t_[i + 1].kind == token_kind::text &&
                 is(i + 2, "{")) {
        const std::size_t close = past(i + 2, range.end);
        scope({i + 3, close - 1}, name, false);
        i = close;
      } else if (in_class && any_of(t_[i], {"public", "private", "protected"}) && is(i + 1, ":")) {
        i += 2;
      } else {
        i = declaration(i, range.end, name, in_class);
      }
    }
  }

  std::size_t name_space(std::size_t i, std::size_t end, const std::string& outer) {
    std::string name = outer;
    i += is(i, "inline") ? 2 : 1;
    for (; i < end && !any_of(t_[i], {"{", ";", "="}); ++i) {
      if (is(i, "[") || is(i, "("))
        i = past(i, end) - 1;
      else if (t_[i].identifier() && !is(i, "inline") && !is(i, "__attribute__"))
        name += std::string(t_[i].text) + "::";
    }
    if (!is(i, "{")) return past_statement(i, end);
    const std::size_t close = past(i, end);
    scope({i + 1, close - 1}, name, false);
    return close;
  }

  std::size_t past_statement(std::size_t i, std::size_t end) const {
    while (i < end && !is(i, ";")) i = any_of(t_[i], {"(", "[", "{"}) ? past(i, end) : i + 1;
    return std::min(i + 1, end);
  }

  struct head {  // what is known of a declaration while it is walked
    std::size_t begin = 0;
    bool global = false, type = false, assigned = false, initializers = false, is_template = false,
         instantiation = false, shared = false, is_extern = false;
    std::size_t memory = none, name = none, open = none, close = none;
    token_range launch_bounds, cluster_dims, arguments;
    std::vector<std::string> template_parameters;
    std::size_t template_defaults = 0;
  };

  std::size_t declaration(std::size_t i, std::size_t end, const std::string& scope_name,
                          bool in_class) {
    head h;
    h.begin = i;
    while (is(i, "template")) {
      if (!is(i + 1, "<")) {
        h.instantiation = true;
        ++i;
        break;
      }
      const std::size_t close = past_angle(i + 1, end);
      template_head({i + 2, close - 1}, h);
      i = close;
    }
    const std::size_t first = i;
    while (i < end) {
      const token& t = t_[i];
      if (t.kind == token_kind::pragma) {
        ++i;
      } else if (t.is("__launch_bounds__") || t.is("__cluster_dims__")) {
        const std::size_t close = past(i + 1, end);
        (t.is("__launch_bounds__") ? h.launch_bounds : h.cluster_dims) = {i + 2, close - 1};
        i = close;
      } else if (takes_parentheses(t)) {
        i = is(i + 1, "(") ? past(i + 1, end) : i + 1;
      } else if (t.is("__global__")) {
        h.global = true, ++i;
      } else if (any_of(t, {"__device__", "__constant__", "__managed__"})) {
        if (h.memory == none || !t.is("__device__")) h.memory = i;
        ++i;
      } else if (t.is("__shared__")) {
        h.shared = true, ++i;
      } else if (t.is("extern")) {
        h.is_extern = true;
        i += i + 1 < end && t_[i + 1].kind == token_kind::text ? 2 : 1;
      } else if (any_of(t, {"class", "struct", "union", "enum"}) && h.open == none && !h.assigned) {
        h.type = true, ++i;
      } else if (t.is("operator") && h.open == none) {
        h.name = i++;
        if (is(i, "(")) i = past(i, end);  // operator()
        while (i < end && !is(i, "(") && !is(i, ";")) ++i;
      } else if (t.is("<") && i > first && t_[i - 1].identifier() && !h.assigned) {
        const std::size_t close = past_angle(i, end);
        if (h.open == none) h.arguments = {i, close};
        i = close;
      } else if (t.is("(")) {
        i = parentheses(i, end, h);
      } else if (t.is("[")) {
        i = past(i, end);
      } else if (t.is("=")) {
        h.assigned = true, ++i;
      } else if (t.is(":") && h.open != none) {
        h.initializers = true, ++i;
      } else if (t.is("{")) {
        const std::size_t close = past(i, end);
        if (h.assigned) {
          i = close;
        } else if (h.type && h.open == none) {
          class_body(h, {i + 1, close - 1}, scope_name);
          i = close;
          h.type = false;
          // Declarators may follow; most often a semicolon does.
        } else if (h.open != none &&
                   !(h.initializers && (t_[i - 1].identifier() || is(i - 1, ">")) &&
                     (is(close, ",") || is(close, "{")))) {
          function(h, {i + 1, close - 1}, close, scope_name, in_class);
          return close;
        } else {
          i = close;
        }
      } else if (t.is(";")) {
        finish(h, i, scope_name);
        return i + 1;
      } else if (t.is("}")) {
        return i + 1;
      } else {
        if (t.identifier() && h.open == none && !h.assigned) h.name = i;
        ++i;
      }
    }
    return end;
  }

  // The first parentheses behind a name hold parameters.
  std::size_t parentheses(std::size_t i, std::size_t end, head& h) {
    const std::size_t close = past(i, end);
    if (h.open == none && !h.assigned) {
      if (is(i + 1, "*") || is(i + 1, "&")) {  // a pointer to a function
        for (std::size_t k = i; k < close; ++k)
          if (t_[k].identifier()) h.name = k;
        h.assigned = true;
      } else if (h.name != none) {
        h.open = i, h.close = close - 1;
        if (h.arguments.end != i) h.arguments = {};
      }
    }
    return close;
  }

  void template_head(token_range range, head& h) {
    h.is_template = h.is_template || range.begin < range.end;
    bool past_default = false;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (is(i, ",")) past_default = false;
      if (is(i, "=") && !std::exchange(past_default, true)) ++h.template_defaults;
      if (t_[i].identifier() && !past_default &&
          (i + 1 == range.end || any_of(t_[i + 1], {",", "="})))
        h.template_parameters.emplace_back(t_[i].text);
    }
  }

  void class_body(const head& h, token_range body, const std::string& scope_name) {
    // The name is the last identifier before a base clause.
    std::string name;
    for (std::size_t i = h.begin; i < body.begin - 1 && !is(i, ":"); ++i) {
      if (is(i, "<"))
        i = past_angle(i, body.begin - 1) - 1;
      else if (takes_parentheses(t_[i]) && is(i + 1, "("))
        i = past(i + 1, body.begin) - 1;
      else if (t_[i].identifier() && !any_of(t_[i], {"final", "class", "struct", "union", "enum"}))
        name = t_[i].text;
    }
    entities_.push_back({name, {h.begin, body.end}});
    found_.classes.insert(name);
    scope(body, scope_name + name + "::", true);
  }

  void function(const head& h, token_range body, std::size_t past_end,
                const std::string& scope_name, bool in_class) {
    const std::string name(t_[h.name].text);
    // An operator of a class is reached by the class's name.
    if (!in_class || name != "operator") entities_.push_back({name, {h.begin, past_end}});
    found_.functions.push_back({{h.open + 1, h.close}, body});
    locals(body);
    if (h.global && !in_class) kernel(h, body, past_end, scope_name);
  }

  void kernel(const head& h, token_range body, std::size_t past_end,
              const std::string& scope_name) {
    kernel_text k;
    k.scope = scope_name;
    k.name = t_[h.name].text;
    for (std::size_t i = h.arguments.begin; i < h.arguments.end; ++i)
      k.arguments += std::string(t_[i].text) + " ";
    k.is_template = h.is_template;
    k.instantiation = h.instantiation;
    k.all = {h.begin, past_end};
    k.parameters = {h.open + 1, h.close};
    k.body = body;
    k.launch_bounds = h.launch_bounds;
    k.cluster_dims = h.cluster_dims;
    k.template_parameters = h.template_parameters;
    k.template_defaults = h.template_defaults;
    found_.kernels.push_back(std::move(k));
  }

  // A declaration that ends with ; at i.
  void finish(const head& h, std::size_t i, const std::string& scope_name) {
    if (h.name == none) return;
    if (h.open == none || h.assigned)
      entities_.push_back(
          {std::string(t_[h.name].text), {h.begin, i}, false, false, h.memory != none});
    if (h.global && h.instantiation && h.open != none) kernel(h, {}, i + 1, scope_name);
    if (h.shared && h.is_extern) dynamic(h.begin, i, false);
    if (h.memory == none || h.shared || is(h.begin, "typedef") || is(h.begin, "using")) return;
    if (h.open != none && !holds_values({h.open + 1, h.close})) return;
    bool defined = !h.is_extern;
    for (std::size_t k = h.begin; k < i; ++k) defined = defined || is(k, "=");
    if (defined && !h.is_template) declarators(h, i, scope_name);
  }

  // Between parentheses: what a constructor takes, not a function's parameters.
  [[nodiscard]] bool holds_values(token_range r) const {
    return r.begin < r.end &&
           (t_[r.begin].kind == token_kind::number || t_[r.begin].kind == token_kind::text ||
            any_of(t_[r.begin],
                   {"-", "+", "!", "~", "&", "{", "(", "true", "false", "nullptr", "sizeof"}));
  }

  // int a, b[4], *c = &a;
  void declarators(const head& h, std::size_t end, const std::string& scope_name) {
    const std::string_view word = t_[h.memory].text;
    memory_kind memory = word == "__constant__"  ? memory_kind::constant
                         : word == "__managed__" ? memory_kind::managed
                                                 : memory_kind::device;
    variable_text v{scope_name, {}, memory, h.memory, none, false, false, false};
    for (std::size_t i = h.begin; i < end; ++i)
      v.is_constexpr = v.is_constexpr || is(i, "constexpr");
    std::size_t name = none, words = 0;
    bool past_name = false, type = false;  // type: behind struct, where braces may hold members
    for (std::size_t i = h.begin; i <= end; ++i) {
      if (is(i, ",") || i == end) {
        if (name != none) {
          v.name = t_[name].text;
          v.end = i;
          found_.variables.push_back(v);
        }
        name = none, past_name = false, v.function_pointer = v.initialized = false;
      } else if (any_of(t_[i], {"class", "struct", "union", "enum"}) && !past_name) {
        type = true, words = 0;
      } else if (is(i, "{") && type && words < 2 && !past_name) {
        name = none, type = false;
        i = past(i, end) - 1;
      } else if (any_of(t_[i], {"(", "[", "{"})) {
        if (is(i, "(") && (is(i + 1, "*") || is(i + 1, "&")) && !past_name) {
          v.function_pointer = true;
          for (std::size_t k = i; k < past(i, end) && !past_name; ++k) {
            if (t_[k].identifier()) name = k;
          }
        }
        if (!takes_parentheses(t_[i - 1])) {
          past_name = past_name || name != none;
          v.initialized = v.initialized || !is(i, "[");
        }
        i = past(i, end) - 1;
      } else if (is(i, "<") && !past_name) {
        i = past_angle(i, end) - 1;
      } else if (is(i, "=")) {
        past_name = v.initialized = true;
      } else if (t_[i].identifier() && !past_name && !takes_parentheses(t_[i])) {
        name = i;
        words += type && !is(i, "final") ? 1 : 0;
      }
    }
  }

  // extern __shared__ within a function.
  void locals(token_range body) {
    for (std::size_t i = body.begin; i < body.end; ++i) {
      if (!is(i, "__shared__")) continue;
      std::size_t from = i;
      while (from > body.begin && !any_of(t_[from - 1], {";", "{", "}"}) &&
             t_[from - 1].kind != token_kind::pragma)
        --from;
      std::size_t end = i;
      bool is_extern = false;
      for (std::size_t k = from; k < i; ++k) is_extern = is_extern || is(k, "extern");
      while (end < body.end && !is(end, ";")) {
        is_extern = is_extern || is(end, "extern");
        ++end;
      }
      if (is_extern) dynamic(from, end, true);
      i = end;
    }
  }

  void dynamic(std::size_t from, std::size_t semicolon, bool in_function) {
    dynamic_shared d;
    d.all = {from, semicolon + 1};
    d.in_function = in_function;
    std::size_t bracket = from;
    while (bracket < semicolon && !is(bracket, "[")) {
      if (takes_parentheses(t_[bracket]) && is(bracket + 1, "("))
        bracket = past(bracket + 1, semicolon);
      else
        ++bracket;
    }
    if (bracket == semicolon || bracket == from) return;
    d.name = t_[bracket - 1].text;
    d.type = {from, bracket - 1};
    d.extents = {bracket, semicolon};
    found_.dynamic.push_back(std::move(d));
  }

  const std::vector<token>& t_;
  scan_result found_;
  std::vector<entity> entities_;
};

}  // namespace

scan_result scan(const token_list& list) { return walker{list}.run(); }

}  // namespace weir::compile
