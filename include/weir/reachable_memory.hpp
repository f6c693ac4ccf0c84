// weir/reachable_memory.hpp - memory that the host and devices reach; the untyped part of pinned and managed buffers.
#pragma once

#include <weir/call_site.hpp>
#include <weir/device.hpp>
#include <weir/export.hpp>
#include <weir/handle.hpp>
#include <weir/tracked_memory.hpp>

#include <cstddef>

namespace weir::detail {

enum class reachable_kind : unsigned char { pinned, managed };

inline constexpr unsigned pinned_for_all_devices = 1;  // CU_MEMHOSTALLOC_PORTABLE

// An allocation in no stream's order: freed when the streams that used it are done, by weir's own thread where somebody
// would have to wait for that.
class WEIR_EXPORT reachable_memory : public tracked_memory {
 public:
  // `flags` are those of the driver's call for that kind.
  reachable_memory(reachable_kind kind, std::size_t count, std::size_t element_bytes, device gpu, unsigned flags,
                   call_site at);
  reachable_memory(reachable_memory&& other) noexcept;
  reachable_memory& operator=(reachable_memory&& other) noexcept;
  ~reachable_memory();
  void close(call_site at);

 private:
  reachable_kind kind_;
  CUctx_st* context_ = nullptr;
};

}  // namespace weir::detail
