// weir/capture/capture_participant.hpp - taking part in a capture that somebody else has begun, and
// will end.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/graph.hpp>
#include <weir/stream/stream.hpp>

#include <utility>

namespace weir {

// For a function that is handed a stream in which a capture may be open, of a framework or of
// another library:
//
//   std::optional<weir::capture_participant> outer;
//   if (weir::capture_status_of(s) != weir::capture_status::none) outer.emplace(s);
//   weir::fill(s, scratch, 0.0f);
//   if (outer) outer->keep(std::move(scratch));  // lives as long as their graph can run
//
// It neither begins the capture nor ends it, and end_capture() in its stream is refused meanwhile
// (illegal_state). While it is there weir treats the capture as one of its own: what would break it
// is refused before the driver sees it (docs/guide/capture.md has the list), weir's own calls do it
// no harm, and what destructors would harm it with is put off. Of a capture that weir has begun all
// that holds anyway. Other streams join and have to be joined again, as ever (stream_fork). The end
// of the object, and so of the function, should come before the end of the capture; afterwards weir
// knows nothing of the capture any more. It stays where it is, on the thread that made it. There
// may be several in one capture, which end in any order: weir knows of it until the last one ends.
class WEIR_EXPORT capture_participant {
 public:
  // Refused: a stream that does not capture (illegal_state), whose capture is broken
  // (stream_capture_invalidated); in a host function (not_permitted). Harms no capture.
  // cuStreamGetCaptureInfo.
  explicit capture_participant(stream_ref stream, call_site at = call_site::current());
  capture_participant(const capture_participant&) = delete;
  capture_participant& operator=(const capture_participant&) = delete;
  ~capture_participant();

  [[nodiscard]] stream_ref stream() const noexcept { return stream_; }
  operator stream_ref() const noexcept { return stream_; }

  // The capture's, and only good while it is open. Nodes may be added to it.
  [[nodiscard]] graph_ref graph() const noexcept { return graph_; }
  // As capture_info::id.
  [[nodiscard]] unsigned long long id() const noexcept { return id_; }

  // Keeps the owner for as long as the graph, whatever is made of it, or a launch needs it:
  // graph_ref::keep().
  template <class Owner>
  void keep(Owner&& owner, call_site at = call_site::current()) const {
    graph_.keep(std::forward<Owner>(owner), at);
  }

 private:
  stream_ref stream_;
  graph_ref graph_;
  unsigned long long id_;
  bool is_registered_ = false;  // weir knows of the capture by this object, and others like it
};

}  // namespace weir
