// SPDX-License-Identifier: Apache-2.0
// compile/host/headers_folder.cpp - without a lock, which a fork could leave locked.
#include "compile/host/headers_folder.hpp"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <system_error>

#include "compile/host/device_headers.hpp"
#include "compile/host/private_folder.hpp"

namespace weir::compile {
namespace {

struct written_headers {
  private_folder folder;
  pid_t process = getpid();
  written_headers* before = nullptr;

  written_headers() {
    for (const device_header& header : device_headers()) folder.write(header.name, header.text);
  }
  [[nodiscard]] bool there() const {
    std::error_code ignored;
    return process == getpid() &&
           std::filesystem::exists(folder.path() / device_headers().back().name, ignored);
  }
};

std::atomic<written_headers*> current{nullptr};

struct at_exit {
  ~at_exit() {
    written_headers* next = current.exchange(nullptr, std::memory_order_acquire);
    while (written_headers* const each = next) {
      next = each->before;
      if (each->process == getpid()) delete each;  // another one's folder is in use there
    }
  }
} const remover;

}  // namespace

std::filesystem::path headers_folder() {
  written_headers* seen = current.load(std::memory_order_acquire);
  if (seen != nullptr && seen->there()) return seen->folder.path();
  // One that is not there any more, or another process's, is left as it is until the end: others
  // may still hold it.
  auto made = std::make_unique<written_headers>();
  made->before = seen;
  if (current.compare_exchange_strong(seen, made.get(), std::memory_order_acq_rel))
    return made.release()->folder.path();
  return seen != nullptr ? seen->folder.path() : made.release()->folder.path();
}

}  // namespace weir::compile
