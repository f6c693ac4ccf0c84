// model/ipc_handle.hpp - what is in the 64 bytes that one process gives to another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "embedded/model/ipc/shared_memory.hpp"

namespace weir::embedded::model {

enum class ipc_kind : std::uint32_t { event = 1, memory = 2, pooled = 3 };

// The name of an object of another process: where its segment is found, and which object of that it
// is. All numbers are checked against the segment before anything is done with them.
struct ipc_identity {
  static constexpr std::uint32_t expected_magic = 0x31'70'69'77;  // "wip1"

  std::uint32_t magic = expected_magic;
  ipc_kind kind{};
  std::int32_t process = 0;
  std::int32_t fd = -1;        // of the segment, in that process
  std::uint64_t identity = 0;  // of the segment
  unsigned long long id = 0;   // of the object
  std::int32_t number = 0;     // its place in the segment
  std::int32_t unused = 0;
  std::uint64_t reserved[3]{};  // so that every byte of a handle is told

  // The segment, opened. Empty where the process has ended.
  [[nodiscard]] shared_memory segment() const noexcept {
    return shared_memory::of_process(static_cast<pid_t>(process), fd);
  }

  template <class Handle>
  void write(Handle& to) const noexcept {
    static_assert(sizeof(Handle) == sizeof(ipc_identity) && std::is_trivially_copyable_v<Handle>);
    std::memcpy(&to, this, sizeof to);
  }

  // False for bytes that no handle of that kind has.
  template <class Handle>
  [[nodiscard]] bool read(const Handle& from, ipc_kind expected) noexcept {
    std::memcpy(this, &from, sizeof from);
    return magic == expected_magic && kind == expected;
  }
};

static_assert(sizeof(ipc_identity) == 64);

}  // namespace weir::embedded::model
