// compile/table.cpp - C++ that uses the templates of device/weir/module.h.
#include "compile/table.hpp"

#include <algorithm>

namespace weir::compile {
namespace {

std::string number(unsigned n) { return std::to_string(n); }

std::string without_blanks(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c != ' ' && c != '\t' && c != '\n') result += c;
  return result;
}

bool keyword(const token& t) { return t.is("__grid_constant__") || t.is("__host__") || t.is("__device__"); }

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
  return waits(list, {0, list.tokens.size()}, found_);
}

unsigned module_table::name_of(const std::string& type, const std::string& entity) {
  const unsigned n = next_++;
  declarations_ += "extern \"C\" __attribute__((visibility(\"hidden\"))) const char weir_name_" + number(n) + "[];\n";
  names_ += "template struct weir_name<" + type + ", &" + entity + ", " + number(n) + ">;\n";
  return n;
}

void module_table::add_kernel(const std::string& type, const std::string& entity, const std::string& bounds,
                              const std::string& cluster, bool waits, const std::string& block) {
  kernels_ += "  weir_entry<" + type + ", &" + entity + ", " + (waits ? "true" : "false") +
              (block.empty() ? std::string{} : ", &" + block) + ">::kernel(weir_name_" + number(next_ - 1) + ", {" +
              bounds + "}, {" + cluster + "}),\n";
  kernel_names_.push_back(next_ - 1);
}

std::string module_table::add(const kernel_text& k, const std::string& block) {
  const bool instance = k.instantiation || (k.is_template && !k.arguments.empty());
  if (k.is_template && !instance && !k.template_parameters.empty()) {
    if (!block.empty()) blocks_.emplace_back(&k, block);
    return {};
  }
  const std::string n = number(next_);
  std::string bounds = join(k.launch_bounds), cluster = join(k.cluster_dims);
  if (k.instantiation) {
    // Those of the template; where they depend on its parameters nobody can tell them here.
    for (const kernel_text& other : found_.kernels)
      if (other.name == k.name && other.scope == k.scope && other.is_template && other.arguments.empty())
        bounds = join(other.launch_bounds);
  }
  std::string beside = " typedef void weir_type_" + n + "(" + without_defaults(k.parameters) + ");";
  const std::string type = "::" + k.scope + "weir_type_" + n;
  const std::string entity = "::" + k.scope + k.name + k.arguments;
  if (!bounds.empty()) {
    beside += " static constexpr unsigned weir_bounds_" + n + "[] = {" + (k.instantiation ? "1024" : bounds) + "};";
    bounds = "::" + k.scope + "weir_bounds_" + n;
  }
  if (!cluster.empty()) {
    beside += " static constexpr unsigned weir_cluster_" + n + "[] = {" + cluster + "};";
    cluster = "::" + k.scope + "weir_cluster_" + n;
  }
  const unsigned name = name_of(type, entity);
  std::string whole = block.empty() ? block : "::" + k.scope + block;
  if (k.instantiation && !k.arguments.empty() && !waits_in(k.arguments)) {
    for (const auto& [other, its] : blocks_)
      if (other->name == k.name && other->scope == k.scope) whole = "::" + k.scope + its + k.arguments;
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
  variables_ += "  {weir_name_" + number(name) + ", (void*)&" + entity + ", sizeof(" + entity + "), " + memory + "},\n";
  ++variable_count_;
}

unsigned module_table::add_expression(std::string_view expression) {
  while (!expression.empty() && (expression.front() == '&' || expression.front() == ' ')) expression.remove_prefix(1);
  const std::string key = without_blanks(expression);
  std::string_view plain = key;
  if (plain.starts_with("::")) plain.remove_prefix(2);
  for (const auto& [name, number_of] : instances_)
    if (name == plain) return number_of;
  // The last name before the template's arguments tells a kernel from a variable.
  std::string_view last = plain.substr(0, plain.find('<'));
  last = last.substr(last.rfind(':') + 1);
  const auto template_of =
      std::find_if(found_.kernels.begin(), found_.kernels.end(), [&](const kernel_text& k) { return k.name == last; });
  const std::string entity(expression);
  const std::string type = "weir_function_of(&" + entity + ")";
  if (template_of == found_.kernels.end()) {
    const unsigned name = name_of("decltype(" + entity + ")", entity);
    instances_.emplace_back(plain, name);
    return name;
  }
  const unsigned name = name_of("decltype(" + type + ")::type", entity);
  // Bounds that name a parameter of the template are not known here.
  const auto known = [&](token_range range) {
    for (std::size_t i = range.begin; i < range.end; ++i)
      for (const std::string& parameter : template_of->template_parameters)
        if (list_.tokens[i].is(parameter)) return std::string{};
    return join(range);
  };
  bool may_wait = template_of->waits;
  // So may what it is made with.
  const bool made_with = waits_in(expression.substr(std::min(expression.find('<'), expression.size())));
  may_wait = may_wait || made_with;
  std::string block;
  for (const auto& [other, its] : blocks_) {
    if (other != &*template_of || made_with || expression.find('<') == expression.npos) continue;
    block = entity;
    block.replace(entity.rfind(std::string(last), entity.find('<')), last.size(), its);
  }
  std::string bounds = known(template_of->launch_bounds), cluster = known(template_of->cluster_dims);
  const auto array = [&](const char* what, std::string& values) {
    if (values.empty()) return;
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
  s += declarations_ + names_;
  s += "extern \"C\" { __attribute__((visibility(\"hidden\"))) const weir_services* weir_driver; }\n";
  s += "extern \"C\" { __attribute__((visibility(\"hidden\"), used)) extern const weir_kernel weir_kernels[" +
       number(std::max(1u, kernel_count)) + "] = {\n" + kernels_ + "}; }\n";
  s += "static const weir_variable weir_variables[" + number(std::max(1u, variable_count_)) + "] = {\n" + variables_ +
       "};\n";
  s += "extern \"C\" { __attribute__((visibility(\"default\"), used)) extern const weir_module_table weir_module = "
       "{weir_module_version, " +
       number(kernel_count) + ", " + number(variable_count_) +
       ", 0, weir_kernels, weir_variables, &weir_driver, weir_machine, weir_compiler}; }\n";
  return s;
}

}  // namespace weir::compile
