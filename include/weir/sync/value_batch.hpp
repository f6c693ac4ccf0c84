// weir/sync/value_batch.hpp - several waits and writes of words, queued by one call.
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

// Waits and writes that one driver call queues, in order, in place of one call each:
//
//   weir::value_batch step;
//   step.wait(filled, weir::until::geq, 1).write(emptied, 1);
//   step.submit(s);                                           // as often as wanted, on any stream
//   step.clear();                                             // to build another one in the same
//   memory
//
// Building allocates only when it is longer than any batch of this object before. The memory of
// the words has to outlive its use. Thread safety: as std::vector.
class WEIR_EXPORT value_batch {
 public:
  // What a driver takes at most.
  static constexpr std::size_t max_size = 255;

  value_batch& wait(wait_word_ref<std::uint32_t> word, until condition, std::uint32_t value,
                    value_wait_options options = {}, call_site at = call_site::current());
  value_batch& wait(wait_word_ref<std::uint64_t> word, until condition, std::uint64_t value,
                    value_wait_options options = {}, call_site at = call_site::current());
  value_batch& write(wait_word_ref<std::uint32_t> word, std::uint32_t value,
                     call_site at = call_site::current());
  value_batch& write(wait_word_ref<std::uint64_t> word, std::uint64_t value,
                     call_site at = call_site::current());
  // What this device wrote before is visible to everybody, or only to this device, before what
  // follows in the batch.
  value_batch& barrier();
  value_batch& device_barrier();
  // What other devices wrote before is visible to what follows. wait_word_features::flush.
  value_batch& flush();

  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
  [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
  void clear() noexcept;
  void reserve(std::size_t size);

  // Queues all of it, or, if the driver dislikes a part, nothing. More than max_size is refused
  // (invalid_value); an empty one queues nothing. Memory and captures as with wait_value(). The
  // batch stays as it is. What is refused names the step and its word where weir can tell which it
  // is. cuStreamBatchMemOp.
  void submit(stream_ref stream, call_site at = call_site::current()) const;

  // For weir's operations: the driver's CUstreamBatchMemOpParams, as many as size(); and a batch
  // made of so many.
  [[nodiscard]] const void* data() const noexcept { return steps_.data(); }
  [[nodiscard]] static value_batch from_raw(const void* data, std::size_t count);

 private:
  // As the driver wants it.
  struct step {
    alignas(8) unsigned char bytes[48];
  };
  template <class Fill>
  value_batch& add(const detail::tracked_memory* owner, const Fill& fill);

  std::vector<step> steps_;
  std::vector<const detail::tracked_memory*>
      owners_;  // of the words of each step; null where nobody is told
};

}  // namespace weir
