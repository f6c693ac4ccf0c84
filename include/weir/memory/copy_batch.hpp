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

// When a copy of a batch may read its source.
enum class source_access_order : unsigned char {
  in_stream_order = 1,  // after the work queued before, as copy() does
  during_call = 2,      // before enqueue() returns: the source may be gone or changed after it
  any_time =
      3,  // whenever it suits the driver: nothing queued before writes the source, and it lives on
};

// How a copy of a batch is made.
struct copy_options {
  source_access_order source_access = source_access_order::in_stream_order;
  bool overlap_with_kernels = false;  // rather slower than in the way of kernels that run beside it
  // Where the memory is, or will rather be: what a driver cannot know of managed and pageable
  // memory. It may help the copy, and promises nothing.
  std::optional<memory_location> source_hint = {};
  std::optional<memory_location> target_hint = {};
  friend constexpr bool operator==(const copy_options&, const copy_options&) noexcept = default;
};

namespace detail {

struct copy_list;

// The ranges of a range, as add_each() takes them: they do not go with the expression that names
// the outer one.
template <class Outer>
concept range_of_ranges = std::ranges::forward_range<Outer> &&
    (std::ranges::enable_borrowed_range<
         std::remove_cvref_t<std::ranges::range_reference_t<Outer>>> ||
     (std::is_lvalue_reference_v<std::ranges::range_reference_t<Outer>> && outlives_call<Outer>));

}  // namespace detail

// A list of copies that are queued together: one call of the driver instead of one for each, and
// the device may make them in any order and at once. So none may read or write what another one
// writes.
//
//   weir::copy_batch batch;
//   batch.add(x, host_x).add(y, host_y);
//   batch.enqueue(s);
//
// What is copied is named, not held: it lives, and weir's buffers stay the objects that they are,
// until the batch is cleared or gone and the copies are done. A batch may be enqueued again, on any
// stream. Move-only; a moved-from one is empty. Thread safety: as any object; enqueue() of one that
// nobody changes, from any thread.
class WEIR_EXPORT copy_batch {
 public:
  copy_batch() noexcept;
  copy_batch(copy_batch&& other) noexcept;
  copy_batch& operator=(copy_batch&& other) noexcept;
  ~copy_batch();

  // Adds a copy of all of `from` to all of `to`, which are of one size, else nothing is added
  // (invalid_value). They are what copy() takes. Zero elements add nothing. No driver call.
  template <class From, class To>
  requires detail::copyable_to<From, To> copy_batch& add(From&& from, To&& to,
                                                         copy_options options = {},
                                                         call_site at = call_site::current()) {
    static_assert(
        detail::outlives_call<From> && detail::outlives_call<To>,
        "the copy runs later: a temporary would be gone by then; name it, or pass a std::span");
    add_region(detail::region_of(from), detail::region_of(to), options, at);
    return *this;
  }

  // Adds a copy of each source to the target in the same place: ranges of spans, or of vectors.
  // There are as many of either, and one set of options for all of them, one for each, or none;
  // else nothing is added (invalid_value).
  template <detail::range_of_ranges Sources, detail::range_of_ranges Targets>
  copy_batch& add_each(Sources&& sources, Targets&& targets,
                       std::span<const copy_options> options = {},
                       call_site at = call_site::current()) {
    const auto pairs = static_cast<std::size_t>(std::ranges::distance(sources));
    check_pair_counts(pairs, static_cast<std::size_t>(std::ranges::distance(targets)),
                      options.size(), at);
    const std::size_t before = size();
    try {
      auto to = std::ranges::begin(targets);
      std::size_t i = 0;
      for (auto&& from : sources) {
        auto&& target = *to++;
        const copy_options how =
            options.empty() ? copy_options{} : options[options.size() == 1 ? 0 : i++];
        add_region(detail::region_of(from), detail::region_of(target), how, at);
      }
    } catch (...) {
      shrink(before);
      throw;
    }
    return *this;
  }
  template <detail::range_of_ranges Sources, detail::range_of_ranges Targets>
  copy_batch& add_each(Sources&& sources, Targets&& targets, const copy_options& for_all,
                       call_site at = call_site::current()) {
    return add_each(sources, targets, std::span{&for_all, 1}, at);
  }

  // Queues all of them in the order of the stream, and returns; an empty batch does nothing. Either
  // all are queued or, if one cannot be, none. Refused before the driver sees it: the legacy
  // default stream (invalid_value), and a stream that captures, since a graph has no such node
  // (stream_capture_unsupported); the capture lives on. In a host function: refused.
  // cuMemcpyBatchAsync. A driver of before CUDA 13 has no such call, and none takes buffers of
  // another device than the stream's in it. There it is a copy() for each: later ones are not
  // queued if one fails, and other options than the usual ones, which copy() cannot keep, are
  // refused (call_requires_newer_driver), but for hints, which are dropped.
  void enqueue(stream_ref stream, call_site at = call_site::current()) const;

  // How many copies.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  // Takes all out; keeps the room.
  void clear() noexcept { shrink(0); }

 private:
  void add_region(const detail::region& from, const detail::region& to, copy_options options,
                  call_site at);
  static void check_pair_counts(std::size_t sources, std::size_t targets, std::size_t options,
                                call_site at);
  void shrink(std::size_t to) noexcept;

  std::unique_ptr<detail::copy_list> list_;
};

}  // namespace weir
