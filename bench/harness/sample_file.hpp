// harness/sample_file.hpp - a file to stage that is on no disk.
#pragma once

#include "unique_fd.hpp"

#include <cstdint>
#include <string>

namespace bench {

// A file of that many bytes, none like its neighbours, in the host's memory: reading it costs the
// same each time. It goes with this object.
class sample_file {
 public:
  explicit sample_file(std::uint64_t bytes);

  [[nodiscard]] int descriptor() const { return file_.get(); }
  // By which this process can open it.
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

 private:
  weir::tool::unique_fd file_;
};

}  // namespace bench
