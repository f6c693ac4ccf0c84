// SPDX-License-Identifier: Apache-2.0
// cases/kernel/kernels.hpp - kernels for cases: a module, and wrappers that launch from it.
#pragma once

#include "probe/probe.hpp"

#include <functional>

namespace weir::conformance {

// Returns the code of the module: PTX, or the image of kernels/kernels.cu.
const void* kernels_module();

struct Kernels {
  CUmodule m = nullptr;
  CUfunction store = nullptr, addone = nullptr, spin = nullptr, fault = nullptr,
             misaligned = nullptr, trapped = nullptr, empty = nullptr;
};

Kernels load_kernels();

// Returns the module of this process, loaded at first use. Each kernel that cannot fail has run
// once.
Kernels& kern();

// store sets the cell to v. addone increments the cell. plain takes no parameters.
CUresult k_store(CUstream s, const Cell& c, unsigned v);
CUresult k_addone(CUstream s, const Cell& c);
CUresult k_plain(CUfunction f, CUstream s);

CUgraphNode add_store(CUgraph gr, const Nodes& deps, CUdeviceptr d, unsigned v);

// Blocks a stream with a kernel that spins until the gate opens (or for some seconds).
class KGate {
 public:
  KGate();
  KGate(const KGate&) = delete;
  KGate& operator=(const KGate&) = delete;
  ~KGate() { open(); }
  void open() { cell_.set(1); }
  void arm(CUstream s);

  // Returns the address of the word that opens it, for another kernel.
  [[nodiscard]] CUdeviceptr where() const { return cell_.d; }

 private:
  Cell cell_;
};

// Records what calls return after `launch` caused a sticky error.
void sticky_case(Rec& r, const std::function<CUresult(CUstream)>& launch);

}  // namespace weir::conformance
