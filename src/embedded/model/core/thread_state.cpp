// SPDX-License-Identifier: Apache-2.0
// model/core/thread_state.cpp - creation and end of a thread's state, and its default streams.
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

// Uses a pthread key instead of a thread_local object: its destructor runs after the destructors of
// thread_local objects. It runs again if one of them, or a destructor of another library's key,
// recreates the state.
pthread_key_t thread_exit_key() {
  static const pthread_key_t key = [] {
    pthread_key_t created;
    if (pthread_key_create(&created, on_thread_exit) != 0) throw std::bad_alloc{};
    return created;
  }();
  return key;
}

}  // namespace

constinit thread_local thread_state* detail::this_thread_state = nullptr;

thread_state& detail::make_thread_state() {
  auto created = std::make_unique<thread_state>();
  if (pthread_setspecific(thread_exit_key(), created.get()) != 0) throw std::bad_alloc{};
  this_thread_state = created.get();
  return *created.release();
}

stream& thread_state::default_stream(context& owner) {
  const unsigned long long generation = owner.generation();
  for (const default_entry& entry : default_streams_) {
    if (entry.owner == &owner && entry.generation == generation) return *entry.stream_object;
  }
  // Drops the entries of destroyed contexts, so that the list of a long-lived thread does not grow.
  std::erase_if(default_streams_, [](const default_entry& entry) {
    return !entry.owner->alive() || entry.owner->generation() != entry.generation;
  });
  default_streams_.reserve(default_streams_.size() + 1);
  stream& created = owner.make_stream(stream_role::blocking);
  created.set_thread_default();
  default_streams_.push_back(
      {&owner, generation, &created, this_process().streams.publish_unique(&created)});
  return created;
}

thread_state::~thread_state() {
  // Does nothing in the child of a fork, where locks that other threads held are never released.
  if (!this_process().initialised()) return;
  handle_table<stream, handle_kind::stream>& streams = this_process().streams;
  for (const default_entry& entry : default_streams_) {
    if (!streams.retire(entry.stream_object, entry.handle)) continue;
    leave_capture(*entry.stream_object);
    entry.stream_object->close();
  }
}

}  // namespace weir::embedded::model
