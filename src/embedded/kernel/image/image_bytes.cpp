// SPDX-License-Identifier: Apache-2.0
// kernel/image/image_bytes.cpp - taking a module out of a program's memory, which may end anywhere.
#include "embedded/kernel/image/image_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>
#include <vector>

#include "embedded/kernel/image/image_check.hpp"
#include "embedded/kernel/image/ptx_text.hpp"

namespace weir::embedded::kernel {

using namespace abi;

namespace {

constexpr const char* label = "weir-module";  // in the process's mappings
constexpr const char* not_there = "the image ends before its headers say it does";

// The system copies, because it finds out about memory that is not there and says so. By its
// number, so that no tool that watches over memory takes the attempt for a mistake.
bool write_all(int to, const std::byte* from, std::size_t bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    const long wrote = syscall(SYS_pwrite64, to, from + done, bytes - done, done);
    if (wrote > 0) {
      done += static_cast<std::size_t>(wrote);
    } else if (wrote == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool read_all(int from, std::byte* to, std::size_t bytes, std::size_t offset = 0) noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(from, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

// Reads bytes that may not be there, by way of a file.
bool peek(const std::byte* from, std::span<std::byte> to) noexcept {
  const os::shared_memory by = os::shared_memory::create(to.size(), label);
  return by && write_all(by.fd(), from, to.size()) && read_all(by.fd(), to.data(), to.size());
}

// How many bytes an ELF file at an address has; 0 for what is none, or is not all there.
std::size_t measure_at(const std::byte* image) {
  std::array<std::byte, elf_header_bytes> header;
  elf_table sections;
  if (!peek(image, header) || !find_section_table(header, sections)) return 0;
  std::vector<std::byte> table(sections.bytes);
  std::uint64_t bytes = 0;
  return peek(image + sections.at, table) && measure(header, table, bytes) ? bytes : 0;
}

CUresult refuse_fat_binary(std::string& diagnostic) {
  diagnostic =
      "this is code for GPUs, which the embedded device cannot run; it runs what was compiled for "
      "the host";
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult refuse_ptx(const char* text, std::string& diagnostic) {
  if (!is_ptx(text, diagnostic)) return CUDA_ERROR_INVALID_PTX;
  diagnostic =
      "this is PTX, which the embedded device cannot run; it runs what was compiled for the host";
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult refuse_junk(std::string& diagnostic) {
  diagnostic = "this is no module";
  return CUDA_ERROR_INVALID_IMAGE;
}

}  // namespace

CUresult image_bytes::copy_of(const void* image, image_bytes& out, std::string& diagnostic) {
  switch (form_of(image)) {
    case image_form::elf: break;
    case image_form::fat_binary: return refuse_fat_binary(diagnostic);
    case image_form::ptx: return refuse_ptx(static_cast<const char*>(image), diagnostic);
    case image_form::junk: return refuse_junk(diagnostic);
  }
  const auto* const from = static_cast<const std::byte*>(image);
  image_bytes made;
  made.bytes_ = measure_at(from);
  if (made.bytes_ == 0) {
    diagnostic = not_there;
    return CUDA_ERROR_INVALID_IMAGE;
  }
  made.file_ = os::shared_memory::create(made.bytes_, label);
  if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!write_all(made.fd(), from, made.bytes_)) {
    diagnostic = not_there;
    return CUDA_ERROR_INVALID_IMAGE;
  }
  const CUresult status = made.check(diagnostic);
  if (status == CUDA_SUCCESS) out = std::move(made);
  return status;
}

CUresult image_bytes::of_file(const char* path, image_bytes& out, std::string& diagnostic) {
  // Without O_NONBLOCK a pipe would be waited for.
  const os::shared_memory file =
      os::shared_memory::adopt(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file || fstat(file.fd(), &found) != 0) {
    diagnostic = std::string{path} + " cannot be read";
    return CUDA_ERROR_FILE_NOT_FOUND;
  }
  if (S_ISDIR(found.st_mode)) {
    diagnostic = std::string{path} + " is a folder";
    return CUDA_ERROR_OUT_OF_MEMORY;  // a GPU's driver takes it for a file of no end
  }
  // A zero at the end, for text. What is no file has no bytes of its own.
  std::vector<std::byte> content(
      static_cast<std::size_t>(S_ISREG(found.st_mode) ? found.st_size : 0) + 1);
  if (!read_all(file.fd(), content.data(), content.size() - 1)) {
    diagnostic = std::string{path} + " cannot be read";
    return CUDA_ERROR_FILE_NOT_FOUND;
  }
  switch (form_of(content.data())) {
    case image_form::elf: break;
    case image_form::fat_binary: return refuse_fat_binary(diagnostic);
    case image_form::ptx:
      return refuse_ptx(reinterpret_cast<const char*>(content.data()), diagnostic);
    case image_form::junk: return refuse_junk(diagnostic);
  }
  image_bytes made;
  made.bytes_ = content.size() - 1;
  made.file_ = os::shared_memory::create(made.bytes_, label);
  if (!made || !write_all(made.fd(), content.data(), made.bytes_)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult status = made.check(diagnostic);
  if (status == CUDA_SUCCESS) out = std::move(made);
  return status;
}

CUresult image_bytes::check(std::string& diagnostic) const {
  void* const at = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd(), 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  struct mapped {
    void* at;
    std::size_t bytes;
    ~mapped() { munmap(at, bytes); }
  } const there{at, bytes_};
  return check_image({static_cast<const std::byte*>(at), bytes_}, diagnostic);
}

image_bytes image_bytes::duplicate() const noexcept {
  image_bytes made;
  made.file_ = os::shared_memory::create(bytes_, label);
  made.bytes_ = bytes_;
  void* const from = made ? mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd(), 0) : MAP_FAILED;
  if (from == MAP_FAILED) return {};
  const bool copied = write_all(made.fd(), static_cast<const std::byte*>(from), bytes_);
  munmap(from, bytes_);
  return copied ? std::move(made) : image_bytes{};
}

}  // namespace weir::embedded::kernel
