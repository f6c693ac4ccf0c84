// SPDX-License-Identifier: Apache-2.0
// cases/stream/legacy_barrier.cpp - the legacy default stream waits for blocking streams and they
// for it.
#include "probe/probe.hpp"

namespace weir::conformance {
void legacy_barrier_cases() {
  add("legacy.waits_for_blocking", [](Rec& r) {
    Stream s(BL);
    rec_waits(r, "null", s, nullptr);
    rec_waits(r, "legacy", s, LEGACY);
  });
  add("legacy.blocks_blocking", [](Rec& r) {
    Stream s(BL);
    rec_waits(r, "null", nullptr, s);
    rec_waits(r, "legacy", LEGACY, s);
  });
  add("legacy.nonblocking_independent", [](Rec& r) {
    Stream s(NB);
    rec_waits(r, "legacy_after_nonblocking", s, LEGACY);
    rec_waits(r, "nonblocking_after_legacy", LEGACY, s);
    rec_waits(r, "null_after_nonblocking", s, nullptr);
    rec_waits(r, "nonblocking_after_null", nullptr, s);
  });
  add("legacy.null_is_legacy", [](Rec& r) {
    rec_waits(r, "legacy_after_null", nullptr, LEGACY);
    rec_waits(r, "null_after_legacy", LEGACY, nullptr);
  });
}

}  // namespace weir::conformance
