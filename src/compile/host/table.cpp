// SPDX-License-Identifier: Apache-2.0
// compile/host/table.cpp - C++ that uses the templates of device/weir/module.h.
#include "compile/host/table.hpp"

#include <algorithm>

#include "compile/host/names.hpp"

namespace weir::compile {
namespace {

std::string number(unsigned n) { return std::to_string(n); }

std::string without_blanks(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c != ' ' && c != '\t' && c != '\n') result += c;
  return result;
}

// How many arguments a template is given in "<..>".
std::size_t arguments_in(std::string_view text) {
  std::size_t count = 0;
  int depth = 0;
  for (const char c : text) {
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (count == 0 && c != '<' && c != ' ') count = 1;
    if (c == ',' && depth == 1) ++count;
  }
  return count;
}

bool keyword(const token& t) {
  return t.is("__grid_constant__") || t.is("__host__") || t.is("__device__");
}

}  // namespace

std::string module_table::join(token_range range) const {
  std::string text;
  for (std::size_t i = range.begin; i < range.end; ++i)
    if (list_.tokens[i].kind != token_kind::pragma) text += std::string(list_.tokens[i].text) + " ";
  return text;
}

std::string module_table::without_defaults(token_range parameters) const {
  const std::vector<token>& t = list_.tokens;
  std::string text;
  int depth = 0;
  bool skipped = false;
  for (std::size_t i = parameters.begin; i < parameters.end; ++i) {
    if (t[i].is("(") || t[i].is("[") || t[i].is("{") || t[i].is("<")) ++depth;
    if (t[i].is(")") || t[i].is("]") || t[i].is("}") || t[i].is(">")) --depth;
    if (depth == 0 && t[i].is("=")) skipped = true;
    if (depth == 0 && t[i].is(",")) skipped = false;
    if (!skipped && !keyword(t[i])) text += std::string(t[i].text) + " ";
  }
  return text;
}

bool module_table::waits_in(std::string_view text) const {
  const token_list list = tokens_of(text);
  return waits(list.tokens, {0, list.tokens.size()}, found_);
}

bool module_table::depends(const kernel_text& k, token_range range) const {
  for (std::size_t i = range.begin; i < range.end; ++i)
    for (const std::string& parameter : k.template_parameters)
      if (list_.tokens[i].is(parameter)) return true;
  return false;
}

// template <int N> static constexpr unsigned weir_bounds_7[] = {N, 2};
std::string module_table::values_of_template(const kernel_text& k) const {
  std::string text;
  const auto add = [&](const char* what, token_range range) {
    if (!depends(k, range)) return;
    text += " " + template_head(k) + "static constexpr unsigned " + values_name(what, k) +
            "[] = {" + join(range) + "};";
  };
  add("bounds", k.launch_bounds);
  add("cluster", k.cluster_dims);
  return text;
}

std::string module_table::values_name(const char* what, const kernel_text& k) {
  return std::string("weir_") + what + "_from_" + number(static_cast<unsigned>(k.all.begin));
}

std::string module_table::template_head(const kernel_text& k) const {
  std::string head;
  std::size_t i = k.all.begin;
  if (i >= list_.tokens.size() || !list_.tokens[i].is("template") || k.template_parameters.empty())
    return head;
  int depth = 0;
  do {
    const token& t = list_.tokens[i];
    head += std::string(t.text) + " ";
    depth += t.is("<") ? 1 : t.is(">") ? -1 : 0;
  } while (++i < k.all.end && (depth > 0 || list_.tokens[i].is("<")));
  return head;
}

// An instance's values, or the name of the array that has them; empty where they cannot be told.
std::string module_table::values_for(const char* what, const kernel_text& of, token_range range,
                                     const std::string& scope, std::string_view arguments) const {
  if (!depends(of, range)) return join(range);
  // Arguments that are neither given nor have a default are deduced, which a variable cannot.
  const bool all = arguments_in(arguments) + of.template_defaults >= of.template_parameters.size();
  return all ? scope + values_name(what, of) + std::string(arguments) : std::string{};
}

unsigned module_table::name_of(const std::string& type, const std::string& entity) {
  const unsigned n = next_++;
  declarations_ += "extern \"C\" __attribute__((visibility(\"hidden\"))) const char weir_name_" +
                   number(n) + "[];\n";
  names_ += "template struct weir_name<" + type + ", &" + entity + ", " + number(n) + ">;\n";
  return n;
}

void module_table::add_kernel(const std::string& type, const std::string& entity,
                              const std::string& bounds, const std::string& cluster, bool waits,
                              const std::string& block) {
  kernels_ += "  weir_entry<" + type + ", &" + entity + ", " + (waits ? "true" : "false") +
              (block.empty() ? std::string{} : ", &" + block) + ">::kernel(weir_name_" +
              number(next_ - 1) + ", {" + bounds + "}, {" + cluster + "}, " +
              (found_.any_spins ? "true" : "false") + "),\n";
  kernel_names_.push_back(next_ - 1);
}

std::string module_table::add(const kernel_text& k, const std::string& block) {
  const bool instance = k.instantiation || (k.is_template && !k.arguments.empty());
  if (k.is_template && !instance && !k.template_parameters.empty()) {
    if (!block.empty()) blocks_.emplace_back(&k, block);
    return values_of_template(k);
  }
  const std::string n = number(next_);
  std::string bounds = join(k.launch_bounds), cluster = join(k.cluster_dims);
  if (k.instantiation) {
    for (const kernel_text& other : found_.kernels) {
      if (other.name != k.name || other.scope != k.scope || !other.is_template ||
          !other.arguments.empty())
        continue;
      bounds = values_for("bounds", other, other.launch_bounds, "::" + k.scope, k.arguments);
      cluster = values_for("cluster", other, other.cluster_dims, "::" + k.scope, k.arguments);
    }
  }
  std::string beside = " typedef void weir_type_" + n + "(" + without_defaults(k.parameters) + ");";
  const std::string type = "::" + k.scope + "weir_type_" + n;
  const std::string entity = "::" + k.scope + k.name + k.arguments;
  const auto array = [&](const char* what, std::string& values) {
    if (values.empty() || values.starts_with("::" + k.scope + "weir_")) return;
    const std::string id = std::string("weir_") + what + "_" + n;
    beside += " static constexpr unsigned " + id + "[] = {" + values + "};";
    values = "::" + k.scope + id;
  };
  array("bounds", bounds);
  array("cluster", cluster);
  const unsigned name = name_of(type, entity);
  std::string whole = block.empty() ? block : "::" + k.scope + block;
  if (k.instantiation && !k.arguments.empty() && !waits_in(k.arguments)) {
    for (const auto& [other, its] : blocks_)
      if (other->name == k.name && other->scope == k.scope)
        whole = "::" + k.scope + its + k.arguments;
  }
  add_kernel(type, entity, bounds, cluster, k.waits, whole);
  instances_.emplace_back(without_blanks(k.scope + k.name + k.arguments), name);
  return beside;
}

void module_table::add(const variable_text& v) {
  const std::string entity = "::" + v.scope + v.name;
  const unsigned name = name_of("decltype(" + entity + ")", entity);
  const char* const memory = v.memory == memory_kind::constant  ? "weir_memory_constant"
                             : v.memory == memory_kind::managed ? "weir_memory_managed"
                                                                : "weir_memory_device";
  variables_ += "  {weir_name_" + number(name) + ", (void*)&" + entity + ", sizeof(" + entity +
                "), " + memory + "},\n";
  ++variable_count_;
}

unsigned module_table::add_expression(std::string_view expression) {
  while (!expression.empty() && (expression.front() == '&' || expression.front() == ' '))
    expression.remove_prefix(1);
  const std::string key = without_blanks(expression);
  std::string_view plain = key;
  if (plain.starts_with("::")) plain.remove_prefix(2);
  for (const auto& [name, number_of] : instances_)
    if (name == plain) return number_of;
  // The last name before the template's arguments tells a kernel from a variable.
  std::string_view last = plain.substr(0, plain.find('<'));
  last = last.substr(last.rfind(':') + 1);
  const auto template_of = std::find_if(found_.kernels.begin(), found_.kernels.end(),
                                        [&](const kernel_text& k) { return k.name == last; });
  const std::string entity(expression);
  const std::string type = "weir_function_of(&" + entity + ")";
  // What is wrong with it is told as of a file of its own.
  std::string shown;
  for (const char c : entity) shown += c == '"' || c == '\\' || c == '\n' ? '.' : c;
  names_ += "# 1 \"name expression " + shown + "\"\n";
  if (template_of == found_.kernels.end()) {
    const unsigned name = name_of("decltype(" + entity + ")", entity);
    instances_.emplace_back(plain, name);
    return name;
  }
  const unsigned name = name_of("decltype(" + type + ")::type", entity);
  bool may_wait = template_of->waits;
  // So may what it is made with.
  const bool made_with =
      waits_in(expression.substr(std::min(expression.find('<'), expression.size())));
  may_wait = may_wait || made_with;
  std::string block;
  for (const auto& [other, its] : blocks_) {
    if (other != &*template_of || made_with || expression.find('<') == expression.npos) continue;
    block = entity;
    block.replace(entity.rfind(std::string(last), entity.find('<')), last.size(), its);
  }
  const std::size_t angle = std::min(entity.find('<'), entity.size());
  const std::string scope = entity.substr(0, entity.rfind(std::string(last), angle));
  const std::string_view arguments = std::string_view{entity}.substr(angle);
  std::string bounds =
      values_for("bounds", *template_of, template_of->launch_bounds, scope, arguments);
  std::string cluster =
      values_for("cluster", *template_of, template_of->cluster_dims, scope, arguments);
  const auto array = [&](const char* what, std::string& values) {
    if (values.empty() || values.starts_with(scope + "weir_")) return;
    const std::string id = std::string("weir_") + what + "_of_" + number(name);
    names_ += "static constexpr unsigned " + id + "[] = {" + values + "};\n";
    values = id;
  };
  array("bounds", bounds);
  array("cluster", cluster);
  add_kernel("decltype(" + type + ")::type", entity, bounds, cluster, may_wait, block);
  instances_.emplace_back(plain, name);
  return name;
}

std::string module_table::text() const {
  const auto kernel_count = static_cast<unsigned>(kernel_names_.size());
  std::string s = "\n# 1 \"weir_module\"\n";
  s += declarations_ + names_ + "# 1 \"weir_module\"\n";
  s += "extern \"C\" { __attribute__((visibility(\"hidden\"))) const weir_services* weir_driver; "
       "}\n";
  s += "extern \"C\" { __attribute__((visibility(\"hidden\"), used)) extern const weir_kernel "
       "weir_kernels[" +
       number(std::max(1u, kernel_count)) + "] = {\n" + kernels_ + "}; }\n";
  s += "static const weir_variable weir_variables[" + number(std::max(1u, variable_count_)) +
       "] = {\n" + variables_ + "};\n";
  s += "extern \"C\" { __attribute__((visibility(\"default\"), used)) extern const "
       "weir_module_table weir_module = "
       "{weir_module_version, " +
       number(kernel_count) + ", " + number(variable_count_) +
       ", 0, weir_kernels, weir_variables, &weir_driver, weir_machine, weir_compiler}; }\n";
  return s;
}

}  // namespace weir::compile
