// model/thread_state.cpp - a thread's state from its first call to its end, and its default streams.
#include "embedded/model/core/thread_state.hpp"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <new>

#include "embedded/model/capture/capture.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded::model {
namespace {

void end_of_thread(void* state) noexcept {
  detail::this_thread_state = nullptr;
  delete static_cast<thread_state*>(state);
}

// A key of pthread, not a thread_local object: its destructor runs after theirs, and again if one of them, or of
// another library's keys, brought the state back.
pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (pthread_key_create(&made, end_of_thread) != 0) throw std::bad_alloc{};
    return made;
  }();
  return key;
}

}  // namespace

constinit thread_local thread_state* detail::this_thread_state = nullptr;

thread_state& detail::make_thread_state() {
  auto made = std::make_unique<thread_state>();
  if (pthread_setspecific(end_key(), made.get()) != 0) throw std::bad_alloc{};
  this_thread_state = made.get();
  return *made.release();
}

stream& thread_state::default_stream(context& in) {
  const unsigned long long life = in.life();
  for (const default_entry& entry : default_streams_) {
    if (entry.in == &in && entry.life == life) return *entry.own;
  }
  // A thread that outlives many contexts shall not remember them all.
  std::erase_if(default_streams_,
                [](const default_entry& entry) { return !entry.in->alive() || entry.in->life() != entry.life; });
  default_streams_.reserve(default_streams_.size() + 1);
  process& p = this_process();
  stream* const made = p.streams.acquire();
  try {
    made->open(in, stream_role::blocking, abi::CU_STREAM_DEFAULT, 0);
  } catch (...) {
    p.streams.recycle(made);
    throw;
  }
  made->give_to_thread();
  default_streams_.push_back({&in, life, made, p.streams.publish(made)});
  return *made;
}

thread_state::~thread_state() {
  if (!this_process().initialised()) return;  // in the child of a fork, where locks may be held for ever
  handle_table<stream, handle_kind::stream>& streams = this_process().streams;
  for (const default_entry& entry : default_streams_) {
    if (!streams.retire(entry.own, entry.handle)) continue;
    leave_capture(*entry.own);
    entry.own->close();
  }
}

}  // namespace weir::embedded::model
