// model/shared_memory.hpp - memory that several processes, or several addresses of one, may have at
// once.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <utility>

namespace weir::embedded::model {

// A segment of memory behind a file descriptor of the process's own: it has no name in a file
// system, nothing is left behind when the last descriptor and the last mapping are gone, and it may
// be mapped as often and wherever one likes. Move-only; the end of the object closes the
// descriptor, and mappings outlive it.
//
// Nothing here throws: what fails gives an empty object or null, with errno as the system left it.
// Thread safety: const members, from any thread.
class shared_memory {
 public:
  shared_memory() noexcept = default;
  shared_memory(shared_memory&& other) noexcept : fd_{other.release()} {}
  shared_memory& operator=(shared_memory&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~shared_memory();

  // A new segment of so many bytes, all zero, which takes up memory where it is touched. `name` is
  // for people that look at the process's mappings. Its size never changes afterwards, so that no
  // other process can cut it short.
  [[nodiscard]] static shared_memory create(std::size_t bytes, const char* name) noexcept;

  // Takes over a descriptor, of whatever it may be of.
  [[nodiscard]] static shared_memory adopt(int fd) noexcept { return shared_memory{fd}; }

  // What a descriptor of ours, or of another process of the same user, stands for. Empty once that
  // has closed it.
  [[nodiscard]] static shared_memory duplicate_of(int fd) noexcept;
  [[nodiscard]] static shared_memory of_process(pid_t process, int fd) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }

  // Gives the descriptor away.
  int release() noexcept { return std::exchange(fd_, -1); }

  // Its size; 0 for what is no segment.
  [[nodiscard]] std::size_t bytes() const noexcept;

  // Is it sure that nobody can cut it short, which would end whoever touches what is gone? One that
  // create() made is.
  [[nodiscard]] bool is_sealed() const noexcept;

  // Makes that sure from now on, for everybody who has it. False where the system does not let it:
  // of a memfd whose maker did not allow it, and of what is no memfd.
  [[nodiscard]] bool seal() const noexcept;

  // Are both the same segment, whichever way they were come by?
  [[nodiscard]] bool same_as(const shared_memory& other) const noexcept;

  // Maps a part of it for reading and writing: anywhere, or in place of what lies at `at`. `offset`
  // and `at` are multiples of the page size. To be ended with munmap(). Null where it cannot be.
  [[nodiscard]] void* map(std::size_t offset, std::size_t bytes, void* at = nullptr) const noexcept;

 private:
  explicit shared_memory(int fd) noexcept : fd_{fd} {}

  int fd_ = -1;
};

// Memory that may be at several addresses of the process at once, and needs no descriptor: what
// keeps it is a mapping of its own. Move-only; its other mappings outlive it.
//
// Thread safety: const members, from any thread.
class shared_pages {
 public:
  shared_pages() noexcept = default;
  shared_pages(shared_pages&& other) noexcept
      : at_{std::exchange(other.at_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  shared_pages& operator=(shared_pages&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~shared_pages();

  // New ones, all zero, of this process alone; or the first of a segment. Empty where the system
  // gives none.
  [[nodiscard]] static shared_pages create(std::size_t bytes) noexcept;
  [[nodiscard]] static shared_pages of(const shared_memory& segment, std::size_t bytes) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }

  // Puts all of them in place of what lies at an address, to be ended with munmap(). False where it
  // cannot be; what lay there may be gone all the same.
  [[nodiscard]] bool map_at(void* at) const noexcept;

 private:
  shared_pages(void* at, std::size_t bytes) noexcept : at_{at}, bytes_{bytes} {}

  void* at_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weir::embedded::model
