// api/kernel/module_names.cpp - names in the source, and the linker's.
#include "api/kernel/module_names.hpp"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
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

// Of "void ns::scale<float, (int)3>(float*, float)": "ns::scale<float, (int)3>".
std::string_view function_name_in(std::string_view signature) {
  int depth = 0;  // of template arguments
  std::size_t begin = 0;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const char c = signature[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == ' ') begin = i + 1;  // behind the type that it returns
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
  const std::string wanted = without_spaces(source_name);
  const std::string has = without_spaces(function_name_in(demangled(linker_name)));
  if (has == wanted) return true;
  // All instances of a template have its name.
  return wanted.find('<') == std::string::npos && has.starts_with(wanted + "<");
}

std::vector<std::string> find_matching_names(std::string_view source_name,
                                             const std::vector<std::string>& all) {
  std::vector<std::string> found;
  for (const std::string& name : all) {
    if (matches_source_name(source_name, name)) found.push_back(name);
  }
  return found;
}

}  // namespace weir::detail
