// SPDX-License-Identifier: Apache-2.0
// weir/sync/value_batch.hpp - batches: several waits and writes of words, queued by one call.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>
#include <weir/sync/value_wait.hpp>
#include <weir/sync/wait_word.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

/// A list of waits and writes that one driver call queues in order, instead of one call each:
///
///   weir::value_batch step;
///   step.wait(filled, weir::until::geq, 1).write(emptied, 1);
///   step.submit(s);  // as often as wanted, on any stream
///   step.clear();    // to build another batch in this memory
///
/// Adding steps allocates only if the batch becomes longer than ever before. The memory of the
/// words must outlive its use.
///
/// Thread safety: as std::vector.
class WEIR_EXPORT value_batch {
 public:
  /// The maximum number of steps that a driver accepts.
  static constexpr std::size_t max_size = 255;

  /// Adds a wait for a 32-bit word, as wait_value().
  value_batch& wait(wait_word_ref<std::uint32_t> word, until condition, std::uint32_t value,
                    value_wait_options options = {}, call_site at = call_site::current());
  /// Adds a wait for a 64-bit word, as wait_value().
  value_batch& wait(wait_word_ref<std::uint64_t> word, until condition, std::uint64_t value,
                    value_wait_options options = {}, call_site at = call_site::current());
  /// Adds a write of a 32-bit word, as write_value().
  value_batch& write(wait_word_ref<std::uint32_t> word, std::uint32_t value,
                     call_site at = call_site::current());
  /// Adds a write of a 64-bit word, as write_value().
  value_batch& write(wait_word_ref<std::uint64_t> word, std::uint64_t value,
                     call_site at = call_site::current());
  /// Adds a barrier: earlier writes of this device are visible to the host and to all devices
  /// before the next step.
  value_batch& barrier();
  /// Adds a barrier: earlier writes of this device are visible to this device before the next step.
  value_batch& device_barrier();
  /// Adds a flush: earlier writes of other devices are visible to the next steps. Needs
  /// wait_word_features::flush.
  value_batch& flush();

  /// Returns the number of steps.
  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
  /// Returns true if there are no steps.
  [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
  /// Removes all steps and keeps the memory.
  void clear() noexcept;
  /// Allocates memory for this number of steps.
  void reserve(std::size_t size);

  /// Queues all steps, or none if the driver rejects one. An empty batch queues nothing. The batch
  /// does not change. Memory is tracked as with wait_value().
  ///
  /// Throws: `invalid_value` for more than max_size steps. The error names the step and its word if
  /// weir can determine which step failed.
  /// In a capture: as wait_value().
  /// Driver: cuStreamBatchMemOp.
  void submit(stream_ref stream, call_site at = call_site::current()) const;

  /// Returns the steps as size() elements of the driver's type CUstreamBatchMemOpParams. Used by
  /// weir's operations.
  [[nodiscard]] const void* data() const noexcept { return steps_.data(); }
  /// Creates a batch from `count` elements of the driver's type. Used by weir's operations.
  [[nodiscard]] static value_batch from_raw(const void* data, std::size_t count);

 private:
  /// In the driver's layout.
  struct step {
    alignas(8) unsigned char bytes[48];
  };
  /// Adds a step. `operation` is in the driver's layout; `owner` may be null.
  value_batch& add(const void* operation, const detail::tracked_memory* owner);

  std::vector<step> steps_;
  /// The memory of each step's word; null if it is not tracked.
  std::vector<const detail::tracked_memory*> owners_;
};

}  // namespace weir
