// failure.hpp - what the tool tells its user when it gives up.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace weir::tool {

// One line for standard error; the tool then ends with a non-zero status. The text names what could
// not be done and to what: "cannot read 'x': Permission denied".
class failure : public std::runtime_error {
 public:
  explicit failure(const std::string& text) : std::runtime_error{text} {}

  // The text, followed by the system's reason for that error number.
  failure(const std::string& text, int error_number)
      : std::runtime_error{text + ": " + std::generic_category().message(error_number)} {}
};

}  // namespace weir::tool
