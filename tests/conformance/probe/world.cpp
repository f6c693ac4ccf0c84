// SPDX-License-Identifier: Apache-2.0
// probe/world.cpp - the initial state of every case: a device, its primary context, and scratch
// memory.
#include "probe/world.hpp"

#include "probe/driver.hpp"
#include "probe/record.hpp"
#include "probe/time_limits.hpp"

#include <cstring>

namespace weir::conformance {

State g;

void init_device() {
  OK(cuInit(0));
  OK(cuDeviceGet(&g.dev, 0));
}

Cell new_cell(uint64_t value) {
  if (!g.cells) throw Abort{"no_cells"};
  const size_t i = g.cell_next.fetch_add(1);
  if (i >= kCells) throw Abort{"out_of_cells"};
  Cell c{g.cells + i * kCellBytes, g.cells_dev + i * kCellBytes};
  c.set64(value);
  return c;
}

void clear_cells() {
  g.cell_next = 0;
  memset(g.cells, 0, kCells * kCellBytes);
}

bool wait_cell(const Cell& c, uint32_t v, int ms) {
  return wait_for([&] { return c.get() == v; }, ms);
}

bool early(const Cell& c, uint32_t v) { return wait_cell(c, v, kMustNotHappenMs); }
bool late(const Cell& c, uint32_t v) { return wait_cell(c, v, kMustHappenMs); }

void mark(CUstream s, const Cell& c, uint32_t v) { OK(cuMemsetD32Async(c.d, v, 1, s)); }

}  // namespace weir::conformance
