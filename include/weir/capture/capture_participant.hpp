// SPDX-License-Identifier: Apache-2.0
// weir/capture/capture_participant.hpp - taking part in a capture that other code begins and ends.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/graph.hpp>
#include <weir/stream/stream.hpp>

#include <utility>

namespace weir {

/// Lets a function use a stream of a framework or another library that may be capturing:
///
///   std::optional<weir::capture_participant> outer;
///   if (weir::capture_status_of(s) != weir::capture_status::none) outer.emplace(s);
///   weir::fill(s, scratch, 0.0f);
///   if (outer) outer->keep(std::move(scratch));  // freed when no launch can use it
///
/// Other code begins and ends the capture. While this object exists, end_capture() of the capture's
/// stream throws `illegal_state`, and weir protects the capture like one that weir began. weir
/// rejects calls that would invalidate the capture before it calls the driver
/// (docs/guide/capture.md lists them). Destructors defer driver calls that would invalidate it. A
/// capture that weir began is protected without this object. Other streams join the capture, and
/// have to be joined again, as usual (weir/stream/stream_fork.hpp).
///
/// Destroy the object before the capture ends, on the thread that created it. It cannot be moved.
/// Several participants may exist in one capture and may be destroyed in any order; weir protects
/// the capture until the last of them is destroyed.
class WEIR_EXPORT capture_participant {
 public:
  /// Begins to take part in the capture of a stream.
  ///
  /// Throws: `illegal_state` if the stream does not capture, `stream_capture_invalidated` if its
  /// capture is invalidated.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuStreamGetCaptureInfo.
  explicit capture_participant(stream_ref stream, call_site at = call_site::current());
  capture_participant(const capture_participant&) = delete;
  capture_participant& operator=(const capture_participant&) = delete;
  ~capture_participant();

  /// Returns the capturing stream.
  [[nodiscard]] stream_ref stream() const noexcept { return stream_; }
  /// Converts to the capturing stream.
  operator stream_ref() const noexcept { return stream_; }

  /// Returns the graph of the capture, valid only while the capture is open. Nodes may be added to
  /// it.
  [[nodiscard]] graph_ref graph() const noexcept { return graph_; }
  /// Returns the id of the capture, as capture_info::id.
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }

  /// Keeps an owner alive until the graph, its clones and all their executables are destroyed and
  /// their launches have finished, like graph_ref::keep().
  template <class Owner>
  void keep(Owner&& owner, call_site at = call_site::current()) const {
    graph_.keep(std::forward<Owner>(owner), at);
  }

 private:
  stream_ref stream_;
  graph_ref graph_;
  unsigned long long id_;
};

}  // namespace weir
