// support/unraised.hpp - collects what reaches on_unraised_error.
#pragma once

#include <weir/core/error.hpp>

#include <cstddef>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace weir::test {

// While one lives, failures that nobody can throw come here instead of to standard error. One at a time.
class unraised_errors {
 public:
  unraised_errors() {
    const std::lock_guard lock{guard()};
    list().clear();
    before_ = on_unraised_error(&note);
  }
  unraised_errors(const unraised_errors&) = delete;
  unraised_errors& operator=(const unraised_errors&) = delete;
  ~unraised_errors() { on_unraised_error(before_); }

  [[nodiscard]] std::vector<std::exception_ptr> all() const {
    const std::lock_guard lock{guard()};
    return list();
  }
  [[nodiscard]] std::size_t count() const { return all().size(); }

  // Those that are weir's own.
  [[nodiscard]] std::vector<error> errors() const {
    std::vector<error> found;
    for (const std::exception_ptr& failure : all()) {
      try {
        std::rethrow_exception(failure);
      } catch (const error& e) {
        found.push_back(e);
      } catch (...) {  // a test's own, which all() has
      }
    }
    return found;
  }

 private:
  static void note(std::exception_ptr failure) noexcept {
    const std::lock_guard lock{guard()};
    list().push_back(std::move(failure));
  }
  static std::mutex& guard() {
    static std::mutex the_mutex;
    return the_mutex;
  }
  static std::vector<std::exception_ptr>& list() {
    static auto* const the_list = new std::vector<std::exception_ptr>;
    return *the_list;
  }

  unraised_error_hook before_;
};

}  // namespace weir::test
