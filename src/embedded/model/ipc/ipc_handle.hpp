// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/ipc_handle.hpp - the contents of the 64-byte IPC handles.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "os/shared_memory.hpp"

namespace weir::embedded::model {

enum class ipc_kind : std::uint32_t { event = 1, memory = 2, pooled = 3 };

// Identifies an event or an allocation of another process: the shared memory segment that holds the
// object, and the object in the segment. A program may pass any bytes as a handle. All numbers are
// therefore checked against the segment before use.
struct ipc_identity {
  static constexpr std::uint32_t expected_magic = 0x31'70'69'77;  // "wip1"

  std::uint32_t magic = expected_magic;
  ipc_kind kind{};
  std::int32_t process = 0;    // the process that owns the segment
  std::int32_t fd = -1;        // the segment's descriptor in that process
  std::uint64_t identity = 0;  // of the segment
  unsigned long long id = 0;   // of the object
  std::int32_t number = 0;     // the index of the object in the segment
  std::int32_t unused = 0;
  std::uint64_t reserved[3]{};  // so that every byte of a handle is defined

  // Opens the segment. Returns an empty object if that fails, for example because the process has
  // ended.
  [[nodiscard]] os::shared_memory segment() const noexcept {
    return os::shared_memory::duplicate_from(static_cast<pid_t>(process), fd);
  }

  // Copies the identity into a handle of the driver API.
  template <class Handle>
  void write(Handle& handle) const noexcept {
    static_assert(sizeof(Handle) == sizeof(ipc_identity) && std::is_trivially_copyable_v<Handle>);
    std::memcpy(&handle, this, sizeof handle);
  }

  // Reads a handle. Returns false if the bytes are not a handle of the expected kind.
  template <class Handle>
  [[nodiscard]] bool read(const Handle& handle, ipc_kind expected) noexcept {
    std::memcpy(this, &handle, sizeof handle);
    return magic == expected_magic && kind == expected;
  }
};

static_assert(sizeof(ipc_identity) == 64);

}  // namespace weir::embedded::model
