// cases/greens.hpp - parts of the device and green contexts of a case's own.
#pragma once

#include "probe/probe.hpp"

#include <string>

namespace weir::conformance {

constexpr unsigned kDefaultStream = CU_GREEN_CTX_DEFAULT_STREAM;

// All multiprocessors of the device of the case.
CUdevResource all_sms();

// The first group that a split by count gives.
CUdevResource sms(unsigned least = 16);

CUdevResourceDesc desc_of(CUdevResource part);

// "SM:132/8/8": the type, and the fields of multiprocessors; "type_<n>" for any other.
std::string text_of(const CUdevResource& part);

// Which of the known contexts a handle is.
std::string which(CUcontext c, CUcontext green);
std::string which(CUgreenCtx c, CUgreenCtx green);

// Destroyed with the case, with its streams gone by then.
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

// A stream in it, destroyed before it if declared behind it.
class GreenStream {
 public:
  CUstream s = nullptr;
  explicit GreenStream(CUgreenCtx in, int priority = 0);
  GreenStream(const GreenStream&) = delete;
  GreenStream& operator=(const GreenStream&) = delete;
  ~GreenStream();
  operator CUstream() const { return s; }
};

}  // namespace weir::conformance
