// SPDX-License-Identifier: Apache-2.0
// tools/weir/failure.hpp - the exception that ends a command with an error message.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace weir::tool {

// Ends the command. The tool prints its text as one line to standard error and ends with a non-zero
// status. The text names the action that failed and its object: "cannot read 'x': Permission
// denied".
class failure : public std::runtime_error {
 public:
  explicit failure(const std::string& text) : std::runtime_error{text} {}

  // Appends the system's message for an error number.
  failure(const std::string& text, int error_number)
      : std::runtime_error{text + ": " + std::generic_category().message(error_number)} {}
};

}  // namespace weir::tool
