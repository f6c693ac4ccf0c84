// SPDX-License-Identifier: Apache-2.0
// cases/context/greens.hpp - device resources and green contexts owned by a case.
#pragma once

#include "probe/probe.hpp"

#include <string>

namespace weir::conformance {

constexpr unsigned kDefaultStream = CU_GREEN_CTX_DEFAULT_STREAM;

// Returns all multiprocessors of the case's device.
CUdevResource all_sms();

// Returns the first group of a split by count.
CUdevResource sms(unsigned least = 16);

CUdevResourceDesc desc_of(CUdevResource part);

// Returns "SM:132/8/8": the type, and the fields of multiprocessors; "type_<n>" for any other type.
std::string text_of(const CUdevResource& part);

// Returns which of the known contexts a handle is.
std::string which(CUcontext c, CUcontext green);
std::string which(CUgreenCtx c, CUgreenCtx green);

// A green context, destroyed at the end of the case. Destroy its streams first.
class Green {
 public:
  CUgreenCtx h = nullptr;
  explicit Green(unsigned least = 16);
  Green(const Green&) = delete;
  Green& operator=(const Green&) = delete;
  ~Green();
  operator CUgreenCtx() const { return h; }
  CUcontext context() const;
  CUresult destroy();
};

// A stream in it. Declare it behind the Green, so that it is destroyed first.
class GreenStream {
 public:
  CUstream s = nullptr;
  explicit GreenStream(CUgreenCtx in, int priority = 0);
  GreenStream(const GreenStream&) = delete;
  GreenStream& operator=(const GreenStream&) = delete;
  ~GreenStream();
  operator CUstream() const { return s; }
};

// Returns the context that is current on this thread, or null.
CUcontext current_context();

}  // namespace weir::conformance
