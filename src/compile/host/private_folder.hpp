// SPDX-License-Identifier: Apache-2.0
// compile/host/private_folder.hpp - a temporary folder that only this user may enter, gone with the
// object.
#pragma once

#include <filesystem>
#include <string_view>

namespace weir::compile {

class private_folder {
 public:
  private_folder();  // below TMPDIR; throws std::filesystem::filesystem_error
  ~private_folder();
  private_folder(const private_folder&) = delete;
  private_folder& operator=(const private_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  // Writes a file below it, folders and all. `name` has to stay inside. Throws std::runtime_error.
  void write(const std::filesystem::path& name, std::string_view text) const;

 private:
  std::filesystem::path path_;
};

}  // namespace weir::compile
