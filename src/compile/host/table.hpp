// SPDX-License-Identifier: Apache-2.0
// compile/host/table.hpp - the text behind a source that makes a module of it: weir_module and what
// it points to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compile/host/scanner.hpp"

namespace weir::compile {

class module_table {
 public:
  module_table(const token_list& list, const scan_result& found) : list_{list}, found_{found} {}

  // What has to stand right behind the kernel, where its parameters' names mean the same; empty of
  // a template. `block` is the name of a function, in the kernel's scope, that runs all threads of
  // a block; empty where there is none.
  [[nodiscard]] std::string add(const kernel_text& kernel, const std::string& block);
  void add(const variable_text& variable);

  // A kernel's instance becomes a kernel of the module. Answers which entry of weir_names holds the
  // linker's name.
  [[nodiscard]] unsigned add_expression(std::string_view expression);

  [[nodiscard]] std::string text() const;

  // Parameters as a declaration has them.
  [[nodiscard]] std::string without_defaults(token_range parameters) const;

  // "template <class T, int N> " of a template; empty of what is none.
  [[nodiscard]] std::string template_head(const kernel_text& kernel) const;

  // Which entries of weir_names are those of the kernels, in the table's order.
  [[nodiscard]] const std::vector<unsigned>& kernel_names() const noexcept { return kernel_names_; }

 private:
  [[nodiscard]] std::string join(token_range range) const;
  [[nodiscard]] bool waits_in(std::string_view text) const;  // a template's arguments
  [[nodiscard]] bool depends(const kernel_text& kernel,
                             token_range range) const;  // on a parameter of the template
  [[nodiscard]] std::string values_of_template(const kernel_text& kernel) const;
  [[nodiscard]] static std::string values_name(const char* what, const kernel_text& kernel);
  [[nodiscard]] std::string values_for(const char* what, const kernel_text& of, token_range range,
                                       const std::string& scope, std::string_view arguments) const;
  unsigned name_of(const std::string& type, const std::string& entity);
  void add_kernel(const std::string& type, const std::string& entity, const std::string& bounds,
                  const std::string& cluster, bool waits, const std::string& block);

  const token_list& list_;
  const scan_result& found_;
  unsigned next_ = 0;
  std::string names_;  // instances of weir_name
  std::string declarations_;
  std::string kernels_, variables_;
  unsigned variable_count_ = 0;
  std::vector<unsigned> kernel_names_;
  std::vector<std::pair<const kernel_text*, std::string>>
      blocks_;  // of templates, and what they are named
  std::vector<std::pair<std::string, unsigned>> instances_;  // expression without blanks, its name
};

}  // namespace weir::compile
