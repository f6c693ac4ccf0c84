// SPDX-License-Identifier: Apache-2.0
// probe/gates.hpp - blocking a stream until the test opens a gate, and detecting whether a call
// blocks.
#pragma once

#include "probe/time_limits.hpp"
#include "probe/world.hpp"

#include <functional>
#include <string>

namespace weir::conformance {

class Rec;

// Blocks a stream with a host function that waits until the gate opens. Declare a gate after the
// streams that it blocks, so that it opens before they are destroyed.
class HostGate {
 public:
  HostGate();
  HostGate(const HostGate&) = delete;
  HostGate& operator=(const HostGate&) = delete;
  ~HostGate() { open(); }

  void arm(CUstream s);
  CUresult try_arm(CUstream s);
  void open();

  // Returns true if n of its host functions have started (entered) or ended (left) within ms.
  bool entered(int n = 1, int ms = kMustHappenMs);
  bool left(int n = 1, int ms = kMustHappenMs);
  int entered_count();

  CUhostFn func() const;
  void* data() const;

 private:
  struct Shared;
  Shared* shared_;  // never freed: a host function may outlive the gate
};

// Blocks a stream with a wait for a word of pinned memory. Unlike a blocked host function it
// occupies no thread of the driver, so it shows which streams really wait for each other.
class ValueGate {
 public:
  ValueGate();
  ValueGate(const ValueGate&) = delete;
  ValueGate& operator=(const ValueGate&) = delete;
  ~ValueGate() { open(); }

  void arm(CUstream s);
  CUresult try_arm(CUstream s);
  void open() { cell_.set(1); }
  const Cell& cell() const { return cell_; }

 private:
  Cell cell_;
};

// A call's result, and whether it blocked until it was released.
struct BlockingResult {
  CUresult res;
  bool blocked;
};

// Calls f on this thread. If it has not returned after ms, another thread calls release, and the
// call counts as blocking.
BlockingResult blocking(const std::function<void()>& release, const std::function<CUresult()>& f,
                        int ms = kBlockedMs);

// Records both. With '~' before the key only the result is compared, and whether the call blocks is
// not.
void record_blocking(Rec& r, const std::string& key, const BlockingResult& b);

// Runs f on a new thread, by default with the case's context current, and waits for it.
void on_thread(const std::function<void()>& f, bool with_ctx = true);

// Closes a gate in `first` and enqueues a memset in `second`. Records whether the memset waits for
// the gate.
void rec_waits(Rec& r, const std::string& key, CUstream first, CUstream second);

}  // namespace weir::conformance
