// SPDX-License-Identifier: Apache-2.0
// model/stream/value_batch.cpp - submits a batch of value operations: all of them, or none if
// memory runs out.
#include "embedded/model/stream/value_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "embedded/engine/pending_value_writes.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

using engine::make_operation;
using engine::make_unconditional_operation;
using engine::operation_kind;
using engine::timeline;

namespace {

// The operations of a batch. The operation with the index `last` deletes this object. The extra
// operation batch_end counts as the operation with the index works.size(). `cancelled`: true if
// memory ran out before all operations were submitted; the submitted ones then do nothing.
struct value_batch {
  std::vector<value_work> works;
  std::size_t last = 0;
  bool cancelled = false;
};

void delete_after_last(value_batch* batch, std::size_t number) noexcept {
  if (number == batch->last) delete batch;
}

// A wait of a batch. A wait of a cancelled batch is satisfied at once. The engine may run a
// satisfied wait a second time, on another thread. A wait therefore does not delete its batch
// unless the batch was cancelled.
struct batched_wait {
  const void* word;  // the engine reads this first member to find the awaited word
  value_batch* batch;
  std::size_t number;

  bool run() const noexcept {
    if (!batch->cancelled) return std::get<value_wait>(batch->works[number]).run();
    delete_after_last(batch, number);
    return true;
  }
};

// A write of a batch. It also runs after a device failure, to delete the batch if it is the last
// operation, but then writes nothing.
struct batched_write {
  value_batch* batch;
  std::size_t number;

  void run() const noexcept {
    if (!batch->cancelled && engine::device_failure() == abi::CUDA_SUCCESS) {
      static_cast<void>(std::get<value_write>(batch->works[number]).run());
    }
    delete_after_last(batch, number);
  }
};

// The operation after the last wait or write of a complete batch. Deletes the batch.
struct batch_end {
  value_batch* batch;

  void run() const noexcept { delete batch; }
};

void add(timeline::submission& pending, value_batch& batch, std::size_t number) {
  const value_work& work = batch.works[number];
  if (const auto* wait = std::get_if<value_wait>(&work)) {
    pending.add(
        make_operation(batched_wait{wait->word, &batch, number}, operation_kind::wait_value));
  } else {
    pending.add(make_unconditional_operation(batched_write{&batch, number}));
  }
}

}  // namespace

void submit_value_batch(stream& target_stream, std::vector<value_work> works) {
  std::erase_if(
      works, [](const value_work& work) { return std::holds_alternative<std::monostate>(work); });
  auto owned = std::make_unique<value_batch>(value_batch{.works = std::move(works)});
  const std::size_t count = owned->works.size();
  target_stream.submit_many([&](timeline::submission& pending) {
    std::size_t added = 0;
    value_batch* batch = owned.get();
    batch->last = count;  // the index of batch_end
    try {
      for (; added < count; ++added) {
        add(pending, *batch, added);
        if (added == 0) owned.release();
        if (const auto* write = std::get_if<value_write>(&batch->works[added])) {
          engine::pending_value_writes::record(write->word, pending.end());
        }
      }
      if (count != 0) pending.add(make_unconditional_operation(batch_end{batch}));
    } catch (...) {
      // Operations that were already added cannot be removed, so they are cancelled.
      batch->cancelled = true;
      if (added != 0) batch->last = added - 1;
      throw;
    }
  });
}

}  // namespace weir::embedded::model
