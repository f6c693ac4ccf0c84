// model/context_close.cpp - how contexts end, and what becomes of their streams and events.
#include <utility>

#include "embedded/model/capture/capture.hpp"
#include "embedded/model/core/context.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/memory.hpp"

namespace weir::embedded::model {

bool context::close() noexcept {
  if (!alive() || closing_.exchange(true)) return false;
  // What runs now may still add work by the driver's calls. Once those are refused, the rest is
  // waited for.
  synchronize_to_end();
  alive_.store(false, std::memory_order_release);
  flags.store(0, std::memory_order_relaxed);
  synchronize_to_end();

  // Who has found a stream and is late in using it looks for the legacy stream of its context.
  if (closed_stand_in_ != nullptr)
    closed_stand_in_->legacy_.store(&legacy(), std::memory_order_release);
  end_streams();
  end_events();
  {
    const std::lock_guard lock{streams_mutex_};
    waits_.clear();
  }
  {
    const std::lock_guard lock{peers_mutex_};
    if (stream* const s = std::exchange(all_streams_, nullptr)) s->close();
    peers_.clear();
  }
  legacy().close();
  modules::release_context(*this);
  memory::release_context(*this);
  return true;
}

// Its streams keep their handles, which nobody can use or destroy any more: a program has to
// destroy them before.
bool context::close_green() noexcept {
  if (!alive() || closing_.exchange(true)) return false;
  alive_.store(false, std::memory_order_release);
  {
    const std::lock_guard lock{peers_mutex_};
    if (stream* const s = std::exchange(all_streams_, nullptr)) s->close();
  }
  legacy().close();
  return true;
}

// By their handles: a thread that ends may close its default stream meanwhile, and the object be
// another's by then. Whoever retires a handle has the object to himself.
void context::end_streams() noexcept {
  handle_table<stream, handle_kind::stream>& streams = this_process().streams;
  streams.for_each([&](stream& s) {
    void* const handle = streams.handle_of(&s);
    if (handle == nullptr || &s.owner() != this || !streams.retire(&s, handle)) return;
    leave_capture(s);
    if (s.is_thread_default()) {
      s.close();
    } else {
      s.end(closed_stand_in_ != nullptr ? *closed_stand_in_ : *this);
      streams.restore(&s, handle);
    }
  });
}

void context::end_events() noexcept {
  handle_table<event, handle_kind::event>& events = this_process().events;
  events.for_each([&](event& e) {
    void* const handle = events.handle_of(&e);
    if (handle == nullptr || &e.owner() != this || !events.retire(&e, handle)) return;
    e.end(closed_stand_in_ != nullptr ? *closed_stand_in_ : *this);
    events.restore(&e, handle);
  });
}

}  // namespace weir::embedded::model
