// cases/two_reach.hpp - memory of the far device, who may reach it, and calls that try to.
#pragma once

#include "probe/probe.hpp"

#include <functional>
#include <string>

namespace weir::conformance {

// kFarBytes of device 1's memory of some kind. The owner is a context that surely reaches it.
class Reached {
 public:
  // What the far memory is, and what was done so that the near device may reach it.
  enum class State {
    plain,          // cuMemAlloc, and nothing
    plain_peer,     // the near context has peer access to the far one
    plain_reverse,  // only the far context has, to the near one
    pool,           // of a pool of its own, and nothing
    pool_peer,      // peer access of the contexts, both ways
    pool_read,      // the pool's access for the near device
    pool_readwrite,
    pool_taken_back,  // given, then taken
    default_pool,     // of the far device's own pool, and nothing
    default_pool_peer,
    default_pool_readwrite,
    mapped_far,   // cuMemCreate, with access for the far device
    mapped_near,  // for the near device only
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

// Calls that put work into a stream, one after the other. What is recorded of each is its answer
// and, where that is success, whether the work did what it should. After work that ends in an
// error, which loses the contexts, no more calls are made.
class Tried {
 public:
  explicit Tried(Rec& r) : r_(r) {}
  void call(const std::string& key, CUstream s, const std::function<CUresult()>& f,
            const std::function<bool()>& did = nullptr);

 private:
  Rec& r_;
  bool lost_ = false;
};

// Words from one memory to another one: put, copied by the call, and looked at.
struct Words {
  CUcontext owner;  // null: memory of the host
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

// One case a state: `group` and the state's name.
void add_for_each_state(const std::string& group, unsigned flags,
                        void (*body)(Rec&, Reached::State));

}  // namespace weir::conformance
