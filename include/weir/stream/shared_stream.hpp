// weir/stream/shared_stream.hpp - a borrowed stream together with what keeps it alive.
#pragma once

#include <weir/stream/stream.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace weir {

// A stream of somebody else and a share in its owner, which lives until the last copy of this is
// gone. stream_ref itself stays a plain handle; this is the one to store. Copies are equal, and
// never destroy the stream themselves.
//
//   weir::shared_stream s{torch_stream.stream(), torch_stream};    // holds a copy of torch_stream
//   weir::shared_stream t{raw, shared_pool};                       // holds a std::shared_ptr
//
// Thread safety: as std::shared_ptr; the stream's own operations from any thread.
class shared_stream {
 public:
  shared_stream(stream_ref stream, std::shared_ptr<const void> owner) noexcept
      : ref_{stream}, owner_{std::move(owner)} {}

  // Any other owner is moved or copied into this.
  template <class Owner>
  requires(!std::is_convertible_v<Owner, std::shared_ptr<const void>>)
      shared_stream(stream_ref stream, Owner&& owner)
      : ref_{stream}, owner_{std::make_shared<std::decay_t<Owner>>(std::forward<Owner>(owner))} {}

  // An owner of weir's own; the stream is closed with the last copy.
  explicit shared_stream(weir::stream&& owned)
      : ref_{owned}, owner_{std::make_shared<weir::stream>(std::move(owned))} {}

  [[nodiscard]] stream_ref ref() const noexcept { return ref_; }
  [[nodiscard]] CUstream_st* get() const noexcept { return ref_.get(); }
  const stream_ref* operator->() const noexcept { return &ref_; }
  operator stream_ref() const noexcept { return ref_; }
  operator CUstream_st*() const noexcept { return ref_.get(); }
  template <foreign_stream R>
  operator R() const {
    return R{ref_.get()};
  }
  friend bool operator==(const shared_stream& a, const shared_stream& b) noexcept {
    return a.ref_ == b.ref_;
  }

 private:
  stream_ref ref_;
  std::shared_ptr<const void> owner_;
};

}  // namespace weir
