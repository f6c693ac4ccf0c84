// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_reach.hpp - device 1's memory, its accessibility, and calls that use it.
#pragma once

#include "probe/probe.hpp"

#include <functional>
#include <string>

namespace weir::conformance {

// kFarBytes of device 1's memory of some kind. The owner is a context that certainly has access.
class Reached {
 public:
  // The kind of device 1's memory, and what gives device 0 access to it.
  enum class State {
    plain,          // cuMemAlloc, without peer access
    plain_peer,     // device 0's context has peer access to device 1's
    plain_reverse,  // only device 1's context has peer access, to device 0's
    pool,           // of a separate pool, without access
    pool_peer,      // peer access of the contexts, in both directions
    pool_read,      // pool access for device 0
    pool_readwrite,
    pool_taken_back,  // given, then removed
    default_pool,     // of device 1's default pool, without access
    default_pool_peer,
    default_pool_readwrite,
    mapped_far,   // cuMemCreate, with access for device 1
    mapped_near,  // for device 0 only
    mapped_both
  };
  struct Named {
    State state;
    const char* name;
  };
  static const Named all[14];

  Reached(State state, const SecondDevice& device1);
  Reached(const Reached&) = delete;
  Reached& operator=(const Reached&) = delete;
  ~Reached();

  CUdeviceptr p = 0;
  CUcontext owner;

 private:
  void from_pool(bool own);
  void map(bool near, bool device1);

  const SecondDevice& far_;
  CUmemoryPool pool_ = nullptr;
  bool own_pool_ = false;
  CUmemGenericAllocationHandle memory_ = 0;
};

CUmemAccessDesc access_from(CUdevice device,
                            CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

// Enqueues calls one after the other. Records each call's result and, on success, whether the work
// had its effect. After work that fails, which loses the contexts, it makes no more calls.
class Tried {
 public:
  explicit Tried(Rec& r) : r_(r) {}
  void call(const std::string& key, CUstream s, const std::function<CUresult()>& f,
            const std::function<bool()>& did = nullptr);

 private:
  Rec& r_;
  bool lost_ = false;
};

// Copies of words from one memory to another: written, copied by the call, and checked.
struct Words {
  CUcontext owner;  // null: host memory
  CUdeviceptr at;
};
class Copied {
 public:
  explicit Copied(Rec& r) : tried_(r) {}
  void copy(const std::string& key, CUstream s, const Words& to, const Words& from,
            const std::function<CUresult()>& f);

 private:
  Tried tried_;
  uint32_t value_ = 100;
};

constexpr size_t kCopied = 64;  // bytes

// Adds one case for each state: `group` and the state's name.
void add_for_each_state(const std::string& group, unsigned flags,
                        void (*body)(Rec&, Reached::State));

}  // namespace weir::conformance
