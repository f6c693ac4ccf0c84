// SPDX-License-Identifier: Apache-2.0
// weir/memory/copy_batch.hpp - many copies in one call.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/memory_location.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>

namespace weir {

/// Says when a copy of a batch may read its source.
enum class source_access_order : unsigned char {
  in_stream_order = 1,  ///< after the work queued before has finished, whatever the memory
  during_call = 2,  ///< before enqueue() returns; the source may change or be destroyed afterwards
  /// At any time that the driver chooses. No work queued earlier may write the source, and the
  /// source must stay valid until the copy is done.
  any_time = 3,
};

/// The options of one copy of a batch.
struct copy_options {
  source_access_order source_access = source_access_order::in_stream_order;
  /// Prefers a copy that is slower, but slows down concurrent kernels less.
  bool overlap_with_kernels = false;
  /// The location of the source's data. A hint that may speed up a copy of managed or pageable
  /// memory, whose location the driver cannot find out.
  std::optional<memory_location> source_hint = {};
  /// The location that the target's data have, or are to have, after the copy. A hint, like
  /// source_hint.
  std::optional<memory_location> target_hint = {};
  friend constexpr bool operator==(const copy_options&, const copy_options&) noexcept = default;
};

namespace detail {

struct copy_list;

/// A range of ranges that add_each() accepts. The memory of the inner ranges must outlive the call,
/// because the copies run later.
template <class Outer>
concept range_of_ranges = std::ranges::forward_range<Outer> &&
    (std::ranges::enable_borrowed_range<
         std::remove_cvref_t<std::ranges::range_reference_t<Outer>>> ||
     (std::is_lvalue_reference_v<std::ranges::range_reference_t<Outer>> && outlives_call<Outer>));

}  // namespace detail

/// A list of copies that are queued together, with one driver call instead of one per copy. The
/// device may make them in any order and concurrently, so no copy may read or write what another
/// one writes.
///
///   weir::copy_batch batch;
///   batch.add(x, host_x).add(y, host_y);
///   batch.enqueue(s);
///
/// The batch refers to the memory and does not own it. The memory must live until the copies are
/// done, and as long as the batch may be enqueued again. weir's buffers must not be moved while the
/// batch refers to them, which ends with clear() or the destructor. A batch may be enqueued again,
/// on any stream. Move-only; a moved-from batch is empty.
///
/// Thread safety: enqueue() may be called from any thread while no thread changes the batch; all
/// other members need exclusive access.
class WEIR_EXPORT copy_batch {
 public:
  copy_batch() noexcept;
  copy_batch(copy_batch&& other) noexcept;
  copy_batch& operator=(copy_batch&& other) noexcept;
  ~copy_batch();

  /// Adds a copy of all of `source` to all of `target`. `source` and `target` are memory that
  /// copy() accepts. Zero elements add nothing. No driver call.
  ///
  /// Throws: `invalid_value` if the sizes differ; nothing is added.
  template <class Source, class Target>
  requires detail::copyable_to<Source, Target> copy_batch& add(
      Source&& source, Target&& target, copy_options options = {},
      call_site at = call_site::current()) {
    static_assert(
        detail::outlives_call<Source> && detail::outlives_call<Target>,
        "the copy runs later: a temporary would be gone by then; name it, or pass a std::span");
    add_region(detail::region_of(source), detail::region_of(target), options, at);
    return *this;
  }

  /// Adds a copy of each source to the corresponding target. Both arguments are ranges of spans or
  /// of vectors. `options` holds one element for each copy, one for all copies, or none for the
  /// default options.
  ///
  /// Throws: `invalid_value` if the numbers of sources, targets and options do not match; nothing
  /// is added.
  template <detail::range_of_ranges Sources, detail::range_of_ranges Targets>
  copy_batch& add_each(Sources&& sources, Targets&& targets,
                       std::span<const copy_options> options = {},
                       call_site at = call_site::current()) {
    const auto pairs = static_cast<std::size_t>(std::ranges::distance(sources));
    check_pair_counts(pairs, static_cast<std::size_t>(std::ranges::distance(targets)),
                      options.size(), at);
    const std::size_t previous_size = size();
    try {
      auto next_target = std::ranges::begin(targets);
      std::size_t i = 0;
      for (auto&& source : sources) {
        auto&& target = *next_target++;
        const copy_options pair_options =
            options.empty() ? copy_options{} : options[options.size() == 1 ? 0 : i++];
        add_region(detail::region_of(source), detail::region_of(target), pair_options, at);
      }
    } catch (...) {
      shrink(previous_size);
      throw;
    }
    return *this;
  }
  /// Adds a copy of each source to the corresponding target, all with the options `for_all`.
  ///
  /// Throws: `invalid_value` if the numbers of sources and targets differ; nothing is added.
  template <detail::range_of_ranges Sources, detail::range_of_ranges Targets>
  copy_batch& add_each(Sources&& sources, Targets&& targets, const copy_options& for_all,
                       call_site at = call_site::current()) {
    return add_each(sources, targets, std::span{&for_all, 1}, at);
  }

  /// Queues all copies in the order of the stream. An empty batch does nothing.
  /// Waits for work queued before if a source is pageable memory that is read in stream order, or
  /// more than 64 KiB of pageable memory that is read during the call. Data in pageable targets is
  /// complete only after a sync().
  /// The driver's batch call needs a driver of CUDA 13, and accepts only buffers of the stream's
  /// own device. It queues all copies or none. In all other cases weir calls copy() for each copy.
  /// Then hints are ignored, and if one copy fails, the copies before it stay queued and those
  /// after it are not queued.
  ///
  /// Throws: `invalid_value` for the legacy default stream; `call_requires_newer_driver` for
  /// options other than hints if weir has to call copy() instead of the batch call.
  /// In a capture: throws `stream_capture_unsupported` on a capturing stream, since a graph has no
  /// such node. The capture stays valid.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuMemcpyBatchAsync.
  void enqueue(stream_ref stream, call_site at = call_site::current()) const;

  /// Returns the number of copies.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Returns true if the batch has no copies.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Removes all copies and keeps the allocated memory of the list.
  void clear() noexcept { shrink(0); }

 private:
  void add_region(const detail::region& source, const detail::region& target, copy_options options,
                  call_site at);
  static void check_pair_counts(std::size_t sources, std::size_t targets, std::size_t options,
                                call_site at);
  void shrink(std::size_t new_size) noexcept;

  std::unique_ptr<detail::copy_list> list_;
};

}  // namespace weir
