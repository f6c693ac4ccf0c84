// SPDX-License-Identifier: Apache-2.0
// kernel/image/image_bytes.hpp - the bytes of a module as a program gives them, in a file of their
// own.
#pragma once

#include <cstddef>
#include <string>

#include "driver/abi.hpp"
#include "os/shared_memory.hpp"

namespace weir::embedded::kernel {

// A module image that has been looked at and is one for this driver, in memory that has a
// descriptor, by which the host's loader takes it. Move-only.
//
// Answers are the driver's codes: CUDA_ERROR_INVALID_IMAGE for what is no module;
// CUDA_ERROR_NO_BINARY_FOR_GPU for a module of something else than this host and this driver, PTX
// and binaries for GPUs among it; CUDA_ERROR_INVALID_PTX for text that begins as PTX does and is
// none. Then `diagnostic` says why, in a line. Throws std::bad_alloc. Thread safety: const members,
// from any thread.
class image_bytes {
 public:
  image_bytes() noexcept = default;

  // Copies what a pointer points to, as many bytes as its own headers say it has. Memory that is
  // not there is no error of the process: CUDA_ERROR_INVALID_IMAGE.
  static abi::CUresult copy_of(const void* image, image_bytes& out, std::string& diagnostic);

  // Reads a file: CUDA_ERROR_FILE_NOT_FOUND where it cannot be read, CUDA_ERROR_OUT_OF_MEMORY for a
  // folder.
  static abi::CUresult of_file(const char* path, image_bytes& out, std::string& diagnostic);

  // The same bytes once more: the loader knows a file that it has met, and gives the same variables
  // for it again. Empty where there is no memory.
  [[nodiscard]] image_bytes duplicate() const noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(file_); }
  [[nodiscard]] int fd() const noexcept { return file_.fd(); }

 private:
  abi::CUresult check(std::string& diagnostic) const;

  os::shared_memory file_;
  std::size_t bytes_ = 0;
};

}  // namespace weir::embedded::kernel
