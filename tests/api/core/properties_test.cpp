// SPDX-License-Identifier: Apache-2.0
// properties_test.cpp - random programs on several streams: with the necessary waits they compute
// what one thread computes in program order.
#include <weir/core/deferred.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::unhandled_errors;

constexpr std::size_t cells = 6;
constexpr std::size_t streams = 4;
constexpr std::size_t elements = 64;

enum class action { fill, copy, add };

// One step: changes a cell on a stream, ordered after earlier steps by an event or by a wait for a
// stream.
struct step {
  action what;
  std::size_t from;
  std::size_t to;
  std::size_t where;
  std::uint32_t value;
  bool by_event;  // otherwise the stream waits for the other stream
};

void showValue(const step& s, std::ostream& os) {  // NOLINT: the name that RapidCheck looks for
  static constexpr const char* names[] = {"fill", "copy", "add"};
  os << names[static_cast<int>(s.what)] << " cell " << s.from << " to " << s.to << " in stream "
     << s.where << " with " << s.value << (s.by_event ? " behind an event" : " behind a stream");
}

rc::Gen<step> any_step() {
  return rc::gen::build<step>(
      rc::gen::set(&step::what, rc::gen::element(action::fill, action::copy, action::add)),
      rc::gen::set(&step::from, rc::gen::inRange<std::size_t>(0, cells)),
      rc::gen::set(&step::to, rc::gen::inRange<std::size_t>(0, cells)),
      rc::gen::set(&step::where, rc::gen::inRange<std::size_t>(0, streams)),
      rc::gen::set(&step::value, rc::gen::arbitrary<std::uint32_t>()),
      rc::gen::set(&step::by_event, rc::gen::arbitrary<bool>()));
}

// The program on streams. Each step waits for the last steps that used its cells.
class program {
 public:
  program() {
    for (std::size_t i = 0; i < streams; ++i) streams_.emplace_back(gpu_);
    for (std::uint32_t& value : words_) value = 0;
  }

  void run(const step& s) {
    const stream& here = streams_[s.where];
    order(s, s.to);
    if (s.what != action::fill) order(s, s.from);
    switch (s.what) {
      case action::fill: fill(here, word(s.to), elements, s.value); break;
      case action::copy:
        if (s.from != s.to) copy(here, word(s.from), word(s.to), elements);
        break;
      case action::add:
        launch_host(here, [from = word(s.from), to = word(s.to), value = s.value] {
          for (std::size_t i = 0; i < elements; ++i) to[i] = from[i] + value;
        });
        break;
    }
    touched(s.to, s.where);
    if (s.what != action::fill) touched(s.from, s.where);
  }

  // The value of each cell. All elements of a cell must be equal.
  [[nodiscard]] std::vector<std::uint32_t> result() {
    for (const stream& s : streams_) s.sync();
    std::vector<std::uint32_t> values;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const std::uint32_t* const first = word(cell);
      if (std::count(first, first + elements, *first) == elements) values.push_back(*first);
    }
    return values;
  }

 private:
  std::uint32_t* word(std::size_t cell) { return words_.data() + cell * elements; }

  // Orders the step after the last access of the cell, which is ordered after all earlier ones.
  void order(const step& s, std::size_t cell) {
    const auto& last = last_access_[cell];
    if (!last) return;
    if (s.by_event) {
      streams_[s.where].wait(last->second);
    } else {
      streams_[s.where].wait(streams_[last->first]);
    }
  }
  void touched(std::size_t cell, std::size_t where) {
    last_access_[cell].emplace(where, streams_[where].record());
  }

  device gpu_;
  pinned_buffer<std::uint32_t> words_{cells * elements};
  std::vector<stream> streams_;
  std::optional<std::pair<std::size_t, event>> last_access_[cells];
};

std::vector<std::uint32_t> in_order(const std::vector<step>& steps) {
  std::vector<std::uint32_t> words(cells, 0);
  for (const step& s : steps) {
    switch (s.what) {
      case action::fill: words[s.to] = s.value; break;
      case action::copy: words[s.to] = words[s.from]; break;
      case action::add: words[s.to] = words[s.from] + s.value; break;
    }
  }
  return words;
}

RC_GTEST_PROP(Properties, StreamsWithWaitsProduceTheResultOfSequentialExecution, ()) {
  const auto steps = *rc::gen::container<std::vector<step>>(any_step());
  program p;
  for (const step& s : steps) p.run(s);
  RC_ASSERT(p.result() == in_order(steps));
}

// Buffers are created, used on any stream, and destroyed while all of the work is still queued.
// Each use copies the buffer's pattern out. If a buffer's memory was reused too early, the copy
// shows another buffer's pattern.
struct use {
  std::size_t slot;
  std::size_t where;
  int what;  // 0: create, 1: destroy, otherwise read
};

void showValue(const use& u, std::ostream& os) {  // NOLINT: the name that RapidCheck looks for
  os << (u.what == 0   ? "make "
         : u.what == 1 ? "destroy "
                       : "read ")
     << u.slot << " in stream " << u.where;
}

rc::Gen<use> any_use() {
  return rc::gen::build<use>(rc::gen::set(&use::slot, rc::gen::inRange<std::size_t>(0, cells)),
                             rc::gen::set(&use::where, rc::gen::inRange<std::size_t>(0, streams)),
                             rc::gen::set(&use::what, rc::gen::inRange(0, 5)));
}

RC_GTEST_PROP(Properties, NoBufferIsFreedWhileAStreamUsesIt, ()) {
  constexpr std::size_t size = 4096;
  const auto uses = *rc::gen::container<std::vector<use>>(any_use());
  const unhandled_errors unhandled;
  const device gpu;
  std::vector<stream> all;
  for (std::size_t i = 0; i < streams; ++i) all.emplace_back(gpu);
  struct slot {
    std::optional<buffer<std::uint32_t>> memory;
    std::uint32_t pattern = 0;
  };
  std::vector<slot> slots(cells);
  std::vector<std::pair<pinned_buffer<std::uint32_t>, std::uint32_t>> read;
  std::uint32_t next = 1;
  for (const use& u : uses) {
    slot& at = slots[u.slot];
    const stream& here = all[u.where];
    if (u.what == 1) {
      at.memory.reset();
    } else if (u.what == 0 || !at.memory) {
      at.memory.emplace(here, size);
      at.pattern = next++;
      fill(here, *at.memory, at.pattern);
    } else {
      here.wait(at.memory->stream());  // the caller orders the first use on another stream
      pinned_buffer<std::uint32_t> out{size};
      copy(here, *at.memory, out);
      read.emplace_back(std::move(out), at.pattern);
    }
  }
  slots.clear();
  for (const stream& s : all) s.sync();
  for (const auto& [out, pattern] : read) {
    for (const std::uint32_t word : out) RC_ASSERT(word == pattern);
  }
  RC_ASSERT(unhandled.count() == 0u);
}

}  // namespace
}  // namespace weir
