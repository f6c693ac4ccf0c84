// weir/detail/unordered_memory.hpp - memory in no stream's order; the untyped part of pinned,
// managed, mapped and ipc buffers.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/tracked_memory.hpp>

namespace weir::detail {

struct first_failure;

// How memory of a kind is given back.
struct memory_deleter {
  const char* call;  // the driver's, for errors
  void (*run)(void* address, void* owner, first_failure& failure) noexcept;
};

// Memory that nothing frees in the order of a stream: it is given back when the streams that used
// it are done with it, by weir's own thread, so that nobody waits for that. Its makers derive from
// this.
class WEIR_EXPORT unordered_memory : public tracked_memory {
 public:
  unordered_memory(unordered_memory&& other) noexcept;
  unordered_memory& operator=(unordered_memory&& other) noexcept;
  ~unordered_memory();

  // Gives it back now: waits for the streams that used it, and throws what failed first. Harms no
  // capture; refused, with nothing changed, while a stream that used it captures, for nobody can
  // wait for that.
  void close(call_site at);

 protected:
  unordered_memory() noexcept = default;

  const memory_deleter* deleter_ = nullptr;
  void* owner_ =
      nullptr;  // what deleter_ needs beside the address: a context, or what it was imported from
};

}  // namespace weir::detail
