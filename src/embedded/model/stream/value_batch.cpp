// model/value_batch.cpp - the operations of a batch share what they are to do, which is nothing if
// not all found room.
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
using engine::operation_kind;
using engine::timeline;

namespace {

// Ended by the last of its operations that was added.
struct value_batch {
  std::vector<value_work> works;
  std::size_t last = 0;
  bool cancelled = false;
};

void end_after(value_batch* of, std::size_t number) noexcept {
  if (number == of->last) delete of;
}

// What was cancelled waits for nothing, and is looked at once. A wait is looked at again by the
// thread that runs it when another has found the value there, so a wait that ends its batch cannot
// free it: that is done by an operation behind it.
struct batched_wait {
  const void* word;  // where the engine finds what is waited for
  value_batch* of;
  std::size_t number;

  bool run() const noexcept {
    if (!of->cancelled) return std::get<value_wait>(of->works[number]).run();
    end_after(of, number);
    return true;
  }
};

// Runs also once the device has failed, so that the batch ends.
struct batched_write {
  value_batch* of;
  std::size_t number;

  void run() const noexcept {
    if (!of->cancelled && engine::device_failure() == abi::CUDA_SUCCESS) {
      static_cast<void>(std::get<value_write>(of->works[number]).run());
    }
    end_after(of, number);
  }
};

struct batch_end {
  value_batch* of;

  void run() const noexcept { delete of; }
};

void add(timeline::submission& to, value_batch& batch, std::size_t number) {
  const value_work& work = batch.works[number];
  if (const auto* wait = std::get_if<value_wait>(&work)) {
    to.add(make_operation(batched_wait{wait->word, &batch, number}, operation_kind::wait_value));
  } else {
    to.add(make_operation(batched_write{&batch, number}, operation_kind::work, true));
  }
}

}  // namespace

void submit_value_batch(stream& in, std::vector<value_work> works) {
  std::erase_if(
      works, [](const value_work& work) { return std::holds_alternative<std::monostate>(work); });
  auto owned = std::make_unique<value_batch>(value_batch{.works = std::move(works)});
  const std::size_t count = owned->works.size();
  in.submit_many([&](timeline::submission& to) {
    std::size_t added = 0;
    value_batch* batch = owned.get();
    batch->last = count;  // the end
    try {
      for (; added < count; ++added) {
        add(to, *batch, added);
        if (added == 0) owned.release();
        if (const auto* write = std::get_if<value_write>(&batch->works[added])) {
          engine::pending_value_writes::record(write->word, to.end());
        }
      }
      if (count != 0) to.add(make_operation(batch_end{batch}, operation_kind::work, true));
    } catch (...) {
      // What was added cannot be taken back.
      batch->cancelled = true;
      if (added != 0) batch->last = added - 1;
      throw;
    }
  });
}

}  // namespace weir::embedded::model
