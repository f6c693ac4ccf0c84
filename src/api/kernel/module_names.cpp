// SPDX-License-Identifier: Apache-2.0
// api/kernel/module_names.cpp - names in the source and linker names.
#include "api/kernel/module_names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace weir::detail {
namespace {

std::string without_spaces(std::string_view text) {
  std::string packed;
  for (const char c : text) {
    if (c != ' ') packed += c;
  }
  return packed;
}

// Returns "ns::scale<float, (int)3>" for "void ns::scale<float, (int)3>(float*, float)".
std::string_view function_name_in(std::string_view signature) {
  int depth = 0;  // nesting of template arguments
  std::size_t begin = 0;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const char c = signature[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == ' ') begin = i + 1;  // after the return type
    if (c == '(' && signature.substr(i).starts_with("(anonymous namespace)")) {
      i += std::string_view{"(anonymous namespace)"}.size() - 1;
      continue;
    }
    if (c == '(') return signature.substr(begin, i - begin);
  }
  return signature.substr(begin);
}

}  // namespace

std::string demangled(const std::string& linker_name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text{
      ::abi::__cxa_demangle(linker_name.c_str(), nullptr, nullptr, &status), &std::free};
  return status == 0 && text != nullptr ? text.get() : linker_name;
}

bool matches_source_name(std::string_view source_name, const std::string& linker_name) {
  const std::string query = without_spaces(source_name);
  const std::string has = without_spaces(function_name_in(demangled(linker_name)));
  if (has == query) return true;
  // A query such as "scale", without template arguments, matches each instance ("scale<float>").
  return query.find('<') == std::string::npos && has.starts_with(query + "<");
}

std::vector<std::string> find_matching_names(std::string_view source_name,
                                             const std::vector<std::string>& all) {
  std::vector<std::string> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const std::string& linker_name) {
    return matches_source_name(source_name, linker_name);
  });
  return found;
}

}  // namespace weir::detail
