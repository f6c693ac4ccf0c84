// model/backing.cpp - small blocks from the heap, large ones from the system, and a few of these kept warm.
#include "embedded/model/backing.hpp"

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "embedded/model/device.hpp"

namespace weir::embedded::model {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// Below this the heap serves better: a mapping costs system calls and whole pages.
constexpr std::size_t smallest_mapping = std::size_t{64} << 10;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

// The length of the mapping for a block: whole pages, and whole huge pages where these are worth having.
constexpr std::size_t mapping_length(std::size_t bytes) noexcept {
  return round_up(bytes, bytes >= huge_page ? huge_page : 4096);
}

bool is_mapped(std::size_t bytes) noexcept { return !exact_blocks && bytes >= smallest_mapping; }

void* map_pages(std::size_t length) noexcept {
  const std::size_t slack = length >= huge_page ? huge_page : 0;
  void* got = mmap(nullptr, length + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  if (slack == 0) return got;
  // Huge pages need a start that is aligned like them; what lies before and behind it goes back.
  const auto start = reinterpret_cast<std::uintptr_t>(got);
  const std::uintptr_t aligned = round_up(start, huge_page);
  if (aligned != start) munmap(got, aligned - start);
  if (const std::size_t rest = start + slack - aligned; rest != 0) {
    munmap(reinterpret_cast<void*>(aligned + length), rest);
  }
  auto* pages = reinterpret_cast<void*>(aligned);
  madvise(pages, length, MADV_HUGEPAGE);
  return pages;
}

// Mappings that were given back lately. A program that allocates and frees in a loop meets touched pages again, and
// spares a page fault for each of them.
class warm_mappings {
 public:
  void* take(std::size_t length) noexcept {
    const std::lock_guard lock{mutex_};
    for (std::size_t i = count_; i-- > 0;) {
      if (kept_[i].length == length) return remove(i).at;
    }
    return nullptr;
  }

  void keep(void* at, std::size_t length) noexcept {
    if (length > most_bytes) {
      munmap(at, length);
      return;
    }
    const std::lock_guard lock{mutex_};
    while (count_ == kept_.size() || bytes_ + length > most_bytes) {
      const mapping oldest = remove(0);
      munmap(oldest.at, oldest.length);
    }
    kept_[count_++] = {at, length};
    bytes_ += length;
  }

  // Gives all of it back to the system.
  void drop() noexcept {
    const std::lock_guard lock{mutex_};
    while (count_ != 0) {
      const mapping last = remove(count_ - 1);
      munmap(last.at, last.length);
    }
  }

 private:
  struct mapping {
    void* at;
    std::size_t length;
  };
  static constexpr std::size_t most_bytes = std::size_t{256} << 20;

  mapping remove(std::size_t index) noexcept {
    const mapping taken = kept_[index];
    for (std::size_t i = index + 1; i < count_; ++i) kept_[i - 1] = kept_[i];
    --count_;
    bytes_ -= taken.length;
    return taken;
  }

  std::mutex mutex_;
  std::array<mapping, 64> kept_{};  // oldest first
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

constinit warm_mappings warm;

void* obtain_mapping(std::size_t bytes) noexcept {
  const std::size_t length = mapping_length(bytes);
  if (void* kept = warm.take(length)) return kept;
  if (void* fresh = map_pages(length)) return fresh;
  warm.drop();
  return map_pages(length);
}

void* obtain_heap_block(std::size_t bytes) noexcept {
  void* block = nullptr;
  return posix_memalign(&block, backing::alignment, bytes) == 0 ? block : nullptr;
}

}  // namespace

backing backing::obtain(std::size_t bytes, device* from) noexcept {
  constexpr std::size_t largest = std::size_t{1} << 47;  // of addresses on the processors that there are
  if (bytes > largest) return {};
  if (from != nullptr && !from->take(bytes)) return {};
  void* at = is_mapped(bytes) ? obtain_mapping(bytes) : obtain_heap_block(bytes);
  if (at == nullptr) {
    if (from != nullptr) from->give_back(bytes);
    return {};
  }
  return backing{at, bytes, from};
}

void backing::give_back(void* at, std::size_t bytes, device* from) noexcept {
  if (is_mapped(bytes)) {
    warm.keep(at, mapping_length(bytes));
  } else {
    std::free(at);
  }
  if (from != nullptr) from->give_back(bytes);
}

}  // namespace weir::embedded::model
