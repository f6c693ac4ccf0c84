// cases/kernels.hpp - kernels for cases: a module, and small wrappers that launch from it.
#pragma once

#include "probe/probe.hpp"

#include <functional>

namespace weir::conformance {

// The code of the module: PTX, or the image of kernels/kernels.cu.
const void* kernels_module();

struct Kernels {
  CUmodule m = nullptr;
  CUfunction store = nullptr, addone = nullptr, spin = nullptr, fault = nullptr,
             misaligned = nullptr, trapped = nullptr, empty = nullptr;
};

Kernels load_kernels();

// The module of this process, loaded at the first use, each kernel that cannot fail having run
// once.
Kernels& kern();

// store: the cell becomes v. addone: the cell gets one more. plain: a kernel without parameters.
CUresult k_store(CUstream s, const Cell& c, unsigned v);
CUresult k_addone(CUstream s, const Cell& c);
CUresult k_plain(CUfunction f, CUstream s);

CUgraphNode add_store(CUgraph gr, const Nodes& deps, CUdeviceptr d, unsigned v);

// Makes a stream busy with a kernel that spins until the gate opens (or for some seconds).
class KGate {
 public:
  KGate();
  KGate(const KGate&) = delete;
  KGate& operator=(const KGate&) = delete;
  ~KGate() { open(); }
  void open() { cell_.set(1); }
  void arm(CUstream s);

  // The word that opens it, for another kernel.
  [[nodiscard]] CUdeviceptr where() const { return cell_.d; }

 private:
  Cell cell_;
};

// Records what calls answer after `launch` made an error that does not go away.
void sticky_case(Rec& r, const std::function<CUresult(CUstream)>& launch);

}  // namespace weir::conformance
