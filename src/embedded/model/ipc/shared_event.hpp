// model/shared_event.hpp - an event's part in what several processes know of it.
#pragma once

#include <cstdint>
#include <mutex>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/model/ipc/ipc_handle.hpp"
#include "embedded/model/ipc/shared_event_table.hpp"

namespace weir::embedded::model {

// An event of several processes, made here or opened here. What another process recorded last is a
// point of this process, too: that of a timeline whose work is to wait for the ticket. So whoever
// waits for an event knows nothing of processes.
//
// A record whose process ends before it is complete counts as complete, for nobody else can
// complete it.
//
// Objects are reused: make() or open() begins a life, end() ends it. Thread safety: all other
// members, from any thread.
class shared_event {
 public:
  // A new event of this process. CUDA_ERROR_OUT_OF_MEMORY where there is no place for one.
  abi::CUresult make();

  // An event of another process by its handle; the driver's code where there is none. Throws
  // std::bad_alloc.
  abi::CUresult open(const abi::CUipcEventHandle& handle);

  // This object of it ends.
  void end() noexcept;

  // What another process opens it by.
  void get_ipc_handle(abi::CUipcEventHandle& out) const noexcept { name_.write(out); }
  [[nodiscard]] bool is_local() const noexcept { return is_local_; }

  // A record behind all that was added. Records complete in the order of their tickets, in one
  // stream as in several: it takes the next one where its place in the stream is decided, waits for
  // the record before, and completes it. The point where that is done. Throws std::bad_alloc, and
  // then there is no record.
  engine::point record_in(engine::timeline::submission& to);

  // Has it been recorded since it was made, by anybody?
  [[nodiscard]] bool recorded() const noexcept;

  // Is the last record complete, whoever made it?
  [[nodiscard]] bool complete() const noexcept;

  // The point of the last record. Throws std::bad_alloc.
  [[nodiscard]] engine::point latest();

 private:
  abi::CUresult open_after_exit();
  void begin(shared_event_slot& slot, const ipc_identity& name, bool is_local) noexcept;
  void set_known(std::uint32_t ticket, engine::point at) noexcept;  // while mutex_

  shared_event_slot* slot_ = nullptr;
  ipc_identity name_;
  bool is_local_ = false;
  std::mutex mutex_;         // guards what follows
  std::uint32_t known_ = 0;  // the last ticket whose point is known here
  engine::point known_point_;
  bool has_known_point_ = false;
  engine::timeline* ticket_timeline_ =
      nullptr;  // waits for tickets whose points are not known, in their order
};

}  // namespace weir::embedded::model
