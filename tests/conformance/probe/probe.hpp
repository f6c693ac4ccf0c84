// SPDX-License-Identifier: Apache-2.0
// probe/probe.hpp - the includes of every file of cases. The vocabulary of the cases:
//   Rec& r                    the record of one case; r.k("key", value) records a value
//   "~key"                    a value that the documentation leaves open: recorded, not compared
//   OK(call)                  set-up: ends the case unless the call returns CUDA_SUCCESS
//   g                         g.dev, g.ctx: device 0 and its context; g.dbuf, g.pin, g.page: memory
//   NB, BL                    Stream(NB) is a non-blocking stream, Stream(BL) a blocking one
//   ValueGate v, HostGate h   v.arm(s) blocks stream s until v.open()
//   Cell c                    a pinned word; mark(s, c) sets it to 1 in stream order
//   early(c), late(c)         true if c is 1 within 120 ms (should not be yet) or 2.5 s (must be)
//   hf(s, trace, "name")      a host function that appends its name to a Trace
//   ISO, RAW, SLOW            flags of a case (cases.hpp): own process, no set-up, long limit
#pragma once

#include "probe/cases.hpp"
#include "probe/driver.hpp"
#include "probe/gates.hpp"
#include "probe/graph/build_graph.hpp"
#include "probe/graph/read_graph.hpp"
#include "probe/owners.hpp"
#include "probe/record.hpp"
#include "probe/second_device.hpp"
#include "probe/time_limits.hpp"
#include "probe/trace.hpp"
#include "probe/world.hpp"
