// SPDX-License-Identifier: Apache-2.0
// soak/soak_stream.cpp - the operations of a soak.
#include "soak/soak_stream.hpp"

#include <utility>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>

namespace soak {

soak_stream::soak_stream(weir::device device)
    : stream_{device}, copied_{1, device}, word_{stream_, 1} {
  copied_[0] = 0;
  weir::fill(stream_, word_, word_value_);
}

void soak_stream::set_word() { weir::fill(stream_, word_, ++word_value_); }

void soak_stream::copy_word() {
  weir::copy(stream_, word_, copied_);
  copied_value_ = word_value_;
}

void soak_stream::record() { event_ = stream_.record(); }

void soak_stream::wait_for(const soak_stream& other) {
  if (other.event_) stream_.wait(*other.event_);
}

void soak_stream::call_host() {
  weir::launch_host(stream_, [this] { calls_run_.fetch_add(1, std::memory_order_relaxed); });
  ++calls_queued_;
}

void soak_stream::allocate() {
  if (spare_.size() == max_spare_buffers) free_one();
  spare_.emplace_back(stream_, 256);
  weir::fill(stream_, spare_.back(), 1);
}

void soak_stream::free_one() {
  if (!spare_.empty()) spare_.pop_front();
}

void soak_stream::replace_stream() {
  weir::stream next{stream_.device()};
  next.wait(stream_);
  word_.set_stream(next);
  stream_ = std::move(next);
}

bool soak_stream::sync_and_check() {
  stream_.sync();
  return calls_run_.load(std::memory_order_relaxed) == calls_queued_ && copied_[0] == copied_value_;
}

}  // namespace soak
