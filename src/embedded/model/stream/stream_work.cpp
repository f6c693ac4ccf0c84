// model/stream_work.cpp - what the operations do that call the program or use words of its memory.
#include <atomic>

#include "embedded/engine/notify_written.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/thread_state.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/stream/work.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// While the program's function runs, the thread is one on which most calls are not permitted.
class host_function_scope {
 public:
  host_function_scope() noexcept : thread_{this_thread()} { thread_.in_host_function = true; }
  ~host_function_scope() { thread_.in_host_function = false; }
  host_function_scope(const host_function_scope&) = delete;
  host_function_scope& operator=(const host_function_scope&) = delete;

 private:
  thread_state& thread_;
};

// Is (word comparison value) true? The greater-or-equal comparison is cyclic.
template <class Unsigned, class Signed>
bool compares(const void* word, std::uint64_t value, std::uint32_t comparison) noexcept {
  // The program may write the word at any time, as it may on a GPU.
  const Unsigned seen = __atomic_load_n(static_cast<const Unsigned*>(word), __ATOMIC_ACQUIRE);
  const auto wanted = static_cast<Unsigned>(value);
  switch (comparison) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<Signed>(static_cast<Unsigned>(seen - wanted)) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return seen == wanted;
    case CU_STREAM_WAIT_VALUE_AND: return (seen & wanted) != 0;
    default:  // CU_STREAM_WAIT_VALUE_NOR
      return static_cast<Unsigned>(~(seen | wanted)) != 0;
  }
}

// Lets the device fail where streams may not do this with a word.
bool fails(const void* word, CUmemAccess_flags use) noexcept {
  const allocation* in = address_map::find(reinterpret_cast<std::uintptr_t>(word));
  if (in != nullptr && in->allows(use)) return false;
  engine::fail_device(CUDA_ERROR_LAUNCH_FAILED);
  return true;
}

}  // namespace

void host_work::run() const noexcept {
  {
    const host_function_scope scope;
    function(data);
  }
  engine::notify_all_written();
}

void callback_work::run() const noexcept {
  {
    const host_function_scope scope;
    function(stream, engine::device_failure(), data);
  }
  engine::notify_all_written();
}

bool value_wait::run() const noexcept {
  if (denied && fails(word, CU_MEM_ACCESS_FLAGS_PROT_READ)) return true;
  return size == 4 ? compares<std::uint32_t, std::int32_t>(word, value, comparison)
                   : compares<std::uint64_t, std::int64_t>(word, value, comparison);
}

bool value_write::run() const noexcept {
  if (denied && fails(word, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)) return false;
  if (size == 4) {
    __atomic_store_n(static_cast<std::uint32_t*>(word), static_cast<std::uint32_t>(value),
                     __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(static_cast<std::uint64_t*>(word), value, __ATOMIC_RELEASE);
  }
  engine::notify_written_ordered(word, size);
  return true;
}

}  // namespace weir::embedded::model
