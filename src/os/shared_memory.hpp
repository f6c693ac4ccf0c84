// SPDX-License-Identifier: Apache-2.0
// os/shared_memory.hpp - memory shared between processes, or between addresses of one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <utility>

namespace weir::os {

// A mapping of shared memory, which can also be mapped at other addresses of the process.
// Move-only. The destructor unmaps it; mappings made by map_at() outlive it.
//
// Thread safety: const members may be called from any thread.
class shared_pages {
 public:
  shared_pages() noexcept = default;
  shared_pages(shared_pages&& other) noexcept
      : address_{other.release()}, bytes_{std::exchange(other.bytes_, 0)} {}
  shared_pages& operator=(shared_pages&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~shared_pages();

  // Makes zeroed pages of this process, which need no file descriptor. Returns an empty object on
  // failure.
  [[nodiscard]] static shared_pages create(std::size_t bytes) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return address_ != nullptr; }
  [[nodiscard]] std::byte* get() const noexcept { return static_cast<std::byte*>(address_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  // Releases ownership of the mapping. The caller unmaps it with munmap().
  void* release() noexcept { return std::exchange(address_, nullptr); }

  // Maps all pages in place of what is mapped at an address; the caller unmaps them with munmap().
  // Returns false on failure, which may have unmapped the old contents.
  [[nodiscard]] bool map_at(void* address) const noexcept;

 private:
  friend class shared_memory;
  shared_pages(void* address, std::size_t bytes) noexcept : address_{address}, bytes_{bytes} {}

  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

// A memory segment behind a file descriptor. It has no name in a file system, and is freed with the
// last descriptor and mapping. It can be mapped any number of times. Move-only; the destructor
// closes the descriptor, and mappings outlive it.
//
// Nothing throws: failures return an empty object or false and leave errno set, except for a
// segment above RLIMIT_FSIZE. Thread safety: const members may be called from any thread.
class shared_memory {
 public:
  shared_memory() noexcept = default;
  shared_memory(shared_memory&& other) noexcept : fd_{other.release()} {}
  shared_memory& operator=(shared_memory&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~shared_memory();

  // Creates a zeroed segment of `bytes` bytes, which takes memory when touched. `name` appears in
  // the process's list of mappings. The size is sealed, so that no process can shrink it.
  [[nodiscard]] static shared_memory create(std::size_t bytes, const char* name) noexcept;

  // Becomes the owner of a descriptor, which need not be a segment.
  [[nodiscard]] static shared_memory adopt(int fd) noexcept { return shared_memory{fd}; }

  // Duplicates a descriptor of this process. Returns an empty object if it is closed.
  [[nodiscard]] static shared_memory duplicate_of(int fd) noexcept;
  // Duplicates a descriptor of another process of this user. Returns an empty object on failure.
  [[nodiscard]] static shared_memory duplicate_from(pid_t process, int fd) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }

  // Releases ownership of the descriptor.
  int release() noexcept { return std::exchange(fd_, -1); }

  // Returns the size in bytes of the segment, or of a regular file; 0 for other descriptors.
  [[nodiscard]] std::size_t bytes() const noexcept;

  // Returns true if no process can shrink the segment, which is so for every segment made by
  // create(). Access to pages that another process removed would end this process.
  [[nodiscard]] bool is_sealed() const noexcept;

  // Prevents every process from shrinking the segment. Returns false if the system refuses: for a
  // memfd that does not allow sealing, and for other files.
  [[nodiscard]] bool seal() const noexcept;

  // Maps a part of the segment for reading and writing, at a free address. `offset` must be a
  // multiple of the page size. Returns an empty object on failure.
  [[nodiscard]] shared_pages map(std::size_t offset, std::size_t bytes) const noexcept;
  // Like map(), in place of what is mapped at `address`, a multiple of the page size. The caller
  // unmaps the part with munmap(). Returns false on failure.
  [[nodiscard]] bool map_at(void* address, std::size_t offset, std::size_t bytes) const noexcept;

 private:
  explicit shared_memory(int fd) noexcept : fd_{fd} {}

  int fd_ = -1;
};

}  // namespace weir::os
