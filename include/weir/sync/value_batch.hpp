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

namespace detail {
struct region;
}

/// A list of steps (waits, writes and barriers) that one driver call queues in order, instead of
/// one call for each step:
///
///   weir::value_batch step;
///   step.wait(filled, weir::until::geq, 1).write(emptied, 1);
///   step.submit(s);  // as often as wanted, on any stream
///   step.clear();    // to build another batch in this memory
///
/// Adding a step allocates memory only if the batch was never that long before and reserve() was
/// not called. The memory of the words must stay valid until the work of the last submit() has
/// finished.
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
  /// Adds a barrier: writes of the stream's device before the barrier are visible to the host and
  /// to all devices before the next step.
  value_batch& barrier();
  /// Adds a barrier: writes of the stream's device before the barrier are visible to this device
  /// before the next step.
  value_batch& device_barrier();
  /// Adds a flush: writes of other devices that have arrived before it are visible to the next
  /// steps, as with value_wait_options::flush. Needs wait_word_features::flush.
  value_batch& flush();

  /// Returns the number of steps.
  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
  /// Returns true if there are no steps.
  [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
  /// Removes all steps and keeps the memory.
  void clear() noexcept;
  /// Allocates memory for `size` steps, so that adding steps up to this number does not allocate.
  void reserve(std::size_t size);

  /// Queues all steps, or none if the driver rejects one. An empty batch queues nothing. The batch
  /// does not change. If a word's reference was made from an object of weir, such as a
  /// pinned_buffer, the object records the stream. Its memory is then freed only after the batch
  /// has finished.
  ///
  /// Throws: `invalid_value` for more than max_size steps. If the driver rejects a step, the error
  /// names the step and its word, as far as weir can find out which step it was.
  /// In a capture: as wait_value().
  /// Driver: cuStreamBatchMemOp.
  void submit(stream_ref stream, call_site at = call_site::current()) const;

  /// Returns the steps as size() elements of the driver's type CUstreamBatchMemOpParams. Used by
  /// weir's operations.
  [[nodiscard]] const void* data() const noexcept { return steps_.data(); }
  /// Returns the words of the waits and writes. Used by weir's operations.
  [[nodiscard]] std::vector<detail::region> words() const;
  /// Creates a batch from `count` elements of the driver's type. Used by weir's operations.
  [[nodiscard]] static value_batch from_raw(const void* data, std::size_t count);

 private:
  /// A step in the layout of the driver's CUstreamBatchMemOpParams.
  struct step {
    alignas(8) unsigned char bytes[48];
  };
  /// Adds a step. `owner` is the object of weir that owns the word's memory; null if there is none.
  value_batch& add(const step& operation, const detail::tracked_memory* owner);

  std::vector<step> steps_;
  /// For each step the object of weir that owns the word's memory; null if there is none.
  std::vector<const detail::tracked_memory*> owners_;
};

}  // namespace weir
