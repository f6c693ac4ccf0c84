// SPDX-License-Identifier: Apache-2.0
// compile/host/scanner.hpp - what a source holds that a module has to know: kernels, variables of
// the device, and whether threads of a kernel may wait for each other. It reads declarations, not
// expressions, and no templates are resolved: where it has to guess, it says that a kernel waits.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/host/token.hpp"

namespace weir::compile {

struct token_range {
  std::size_t begin = 0, end = 0;  // indexes of tokens, the last not included
};

struct kernel_text {
  std::string scope;  // "ns::inner::", without namespaces that have no name
  std::string name;
  std::string arguments;     // "<int, 4>" of a specialization or an explicit instantiation
  bool is_template = false;  // a template's own definition: its instances are asked for by name
  bool instantiation = false;
  bool waits = false;
  bool spins = false;         // in its own text
  token_range all;            // from the first specifier to the } or ;
  token_range parameters;     // between the parentheses
  token_range body;           // between the braces; empty of an instantiation
  token_range launch_bounds;  // between the parentheses; empty if there are none
  token_range cluster_dims;
  std::vector<std::string> template_parameters;
  std::size_t template_defaults = 0;  // how many of them have one
};

enum class memory_kind : unsigned char { device, constant, managed };

struct variable_text {
  std::string scope, name;
  memory_kind memory;
  std::size_t specifier = 0;  // the token that says so
  std::size_t end = 0;        // the , or ; behind it
  bool function_pointer = false;
  bool initialized = false;
  bool is_constexpr = false;
};

// extern __shared__ T name[];
struct dynamic_shared {
  token_range all;            // from extern to ;
  token_range type, extents;  // T; and [] with what follows
  std::string name;
  bool in_function = false;
};

struct function_text {
  token_range parameters, body;
};

struct scan_result {
  std::vector<kernel_text> kernels;  // those that are defined, and explicit instantiations
  std::vector<variable_text> variables;
  std::vector<dynamic_shared> dynamic;
  std::vector<function_text> functions;        // every one that has a body
  std::set<std::string, std::less<>> waiting;  // names by which a wait can be reached
  std::set<std::string, std::less<>> names;    // of functions, variables, classes and aliases
  std::set<std::string, std::less<>> classes;  // of classes alone
  bool groups = false;                         // cooperative groups are included
  bool any_waits = false;  // a wait that has no name: in an operator, behind a pointer
  bool any_spins = false;  // a function waits for others by looking at memory (spinning.hpp)
};

[[nodiscard]] scan_result scan(const token_list& list);

}  // namespace weir::compile
