// model/thread_state.cpp - a thread's state from its first call to its end, and its default
// streams.
#include "embedded/model/core/thread_state.hpp"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <new>

#include "embedded/model/capture/capture.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded::model {
namespace {

void on_thread_exit(void* state) noexcept {
  detail::this_thread_state = nullptr;
  delete static_cast<thread_state*>(state);
}

// A key of pthread, not a thread_local object: its destructor runs after theirs, and again if one
// of them, or of another library's keys, brought the state back.
pthread_key_t thread_exit_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (pthread_key_create(&made, on_thread_exit) != 0) throw std::bad_alloc{};
    return made;
  }();
  return key;
}

}  // namespace

constinit thread_local thread_state* detail::this_thread_state = nullptr;

thread_state& detail::make_thread_state() {
  auto made = std::make_unique<thread_state>();
  if (pthread_setspecific(thread_exit_key(), made.get()) != 0) throw std::bad_alloc{};
  this_thread_state = made.get();
  return *made.release();
}

stream& thread_state::default_stream(context& in) {
  const unsigned long long generation = in.generation();
  for (const default_entry& entry : default_streams_) {
    if (entry.in == &in && entry.generation == generation) return *entry.stream_object;
  }
  // A thread that outlives many contexts shall not remember them all.
  std::erase_if(default_streams_, [](const default_entry& entry) {
    return !entry.in->alive() || entry.in->generation() != entry.generation;
  });
  default_streams_.reserve(default_streams_.size() + 1);
  process& p = this_process();
  stream* const made = p.streams.acquire();
  try {
    made->open(in, stream_role::blocking, abi::CU_STREAM_DEFAULT, 0);
  } catch (...) {
    p.streams.recycle(made);
    throw;
  }
  made->set_thread_default();
  default_streams_.push_back({&in, generation, made, p.streams.publish(made)});
  return *made;
}

thread_state::~thread_state() {
  if (!this_process().initialised())
    return;  // in the child of a fork, where locks may be held for ever
  handle_table<stream, handle_kind::stream>& streams = this_process().streams;
  for (const default_entry& entry : default_streams_) {
    if (!streams.retire(entry.stream_object, entry.handle)) continue;
    leave_capture(*entry.stream_object);
    entry.stream_object->close();
  }
}

}  // namespace weir::embedded::model
