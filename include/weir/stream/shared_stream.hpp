// SPDX-License-Identifier: Apache-2.0
// weir/stream/shared_stream.hpp - a borrowed stream together with its owner.
#pragma once

#include <weir/stream/stream.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace weir {

/// A stream together with shared ownership of the object that owns it, for example a stream object
/// of another library. The owner is destroyed with the last copy of the shared_stream. Derives from
/// stream_ref. A stream_ref is a plain handle; store a shared_stream instead if the owner must stay
/// alive.
///
///   weir::shared_stream s{torch_stream.stream(), torch_stream};  // holds a copy of torch_stream
///   weir::shared_stream t{raw, shared_pool};                     // holds a std::shared_ptr
///
/// Thread safety: as std::shared_ptr. The stream's own operations may be called from any thread.
class shared_stream : public stream_ref {
 public:
  /// Keeps the owner through a shared pointer.
  shared_stream(stream_ref stream, std::shared_ptr<const void> owner) noexcept
      : stream_ref{stream}, owner_{std::move(owner)} {}

  /// Moves or copies an owner of any other type into memory that all copies of this object share.
  template <class Owner>
  requires(!std::is_convertible_v<Owner, std::shared_ptr<const void>>)
      shared_stream(stream_ref stream, Owner&& owner)
      : stream_ref{stream},
        owner_{std::make_shared<std::decay_t<Owner>>(std::forward<Owner>(owner))} {}

  /// Takes over a weir::stream, which is destroyed with the last copy of this object.
  explicit shared_stream(weir::stream&& owned)
      : stream_ref{owned}, owner_{std::make_shared<weir::stream>(std::move(owned))} {}

  /// Returns the reference, without the owner.
  [[nodiscard]] stream_ref ref() const noexcept { return *this; }
  /// Gives access to the stream's operations.
  const stream_ref* operator->() const noexcept { return this; }

 private:
  std::shared_ptr<const void> owner_;
};

}  // namespace weir
