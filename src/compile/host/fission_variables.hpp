// SPDX-License-Identifier: Apache-2.0
// compile/host/fission_variables.hpp - the variables of a kernel that becomes loops over its
// threads. Which are the same for all threads, which each thread can compute again behind a
// barrier, and which need room for one a thread.
//
// What is decided here by looking is made certain by the compiler: what is taken not to change is
// const in the loops' text, and what is taken to have no functions of its own that could do
// something is asserted to have none.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/host/fission_declaration.hpp"

namespace weir::compile {

using statements = std::vector<token_range>;

class fission_variables {
 public:
  fission_variables(const token_list& list, const scan_result& found, const kernel_text& kernel);

  // Between the parentheses of the function that runs a block.
  [[nodiscard]] const std::string& parameters() const noexcept { return parameters_; }
  // The room for parameters that threads change, at the start of that function.
  [[nodiscard]] const std::string& beginning() const noexcept { return beginning_; }
  // What has to be true of the text; stands at the start of that function.
  [[nodiscard]] std::string assertions() const;

  // What is visible in a scope.
  [[nodiscard]] std::size_t mark() const noexcept { return visible_.size(); }
  void leave(std::size_t mark) { visible_.resize(mark); }

  // Is an expression without side effects, and the same whenever it is computed? With `threads`, it
  // may differ between threads. `region`: statements before it that are not written yet. `own` is a
  // name that is known to be so.
  [[nodiscard]] bool pure(token_range r, bool threads, const statements& region,
                          std::string_view own = {});

  // Is a condition or step the same for all threads, whoever is left of them?
  [[nodiscard]] bool same(token_range r, std::string_view own = {});

  // From here on threads may have ended. What they kept from happening, as a division by zero, must
  // not happen for them.
  void may_have_left() noexcept { left_ = true; }

  // The variable of a loop around barriers. Throws not_understood.
  void add_uniform(std::string_view name);
  // A declaration of variables that are the same for all threads, whose text goes to `hoisted`, or
  // that each can compute again. False where it is none.
  [[nodiscard]] bool known(token_range statement, const statements& region, std::string& hoisted);
  // A declaration of variables of which there is one a thread, made in `arrays`; the answer is what
  // stands in the loop.
  [[nodiscard]] std::string stored(const declaration_text& d, std::string& arrays);
  // A declaration of shared memory.
  [[nodiscard]] std::string shared(token_range statement, bool in_loop);

  // What makes those that were visible at `mark` visible in a loop over the threads.
  [[nodiscard]] std::string bound(const statements& region, std::size_t mark) const;
  // A loop's stack has to hold them all.
  [[nodiscard]] std::string room() const;

  // The tokens as they stand in a loop. `leaving` takes the place of a return; without it there
  // must be none.
  [[nodiscard]] std::string plain(token_range r, std::string_view leaving = {}) const;

 private:
  struct variable {
    enum kind : unsigned char { uniform, again, in_array } how;
    std::string name;
    std::string text;  // again: its declaration; in_array: its array
    bool constant = false;
  };
  struct parameter {
    std::string name;
    bool plain = false;   // a number or a pointer for certain
    bool stored = false;  // one a thread
  };

  [[nodiscard]] bool contains_return(const statements& region) const;
  void read_parameters();
  void read_parameter(token_range r);
  void make_room(const parameter& p);
  [[nodiscard]] bool modified(std::string_view name, bool plain) const;
  [[nodiscard]] const variable* seen(std::string_view name) const;
  [[nodiscard]] const parameter* parameter_of(std::string_view name) const;
  [[nodiscard]] bool declared_in(const statements& region, std::string_view name) const;
  [[nodiscard]] bool pure_name(std::size_t i, bool threads, const statements& region);
  void assert_plain(std::size_t i);
  void push(variable v);

  body_tokens t_;
  const scan_result& found_;
  const kernel_text& k_;
  std::string parameters_, beginning_;
  std::vector<parameter> of_kernel_;
  std::vector<variable> visible_;
  std::set<std::string, std::less<>> shared_;
  std::set<std::string> asserted_;
  unsigned next_ = 0;
  unsigned arrays_ = 0;
  bool left_ = false;
};

}  // namespace weir::compile
