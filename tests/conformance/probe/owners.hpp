// probe/owners.hpp - driver objects that live as long as a case. They never throw when they are
// destroyed.
#pragma once

#include "probe/abi.hpp"

#include <cstddef>

namespace weir::conformance {

// Ends a capture that the case left open.
class Stream {
 public:
  CUstream s = nullptr;
  explicit Stream(unsigned flags);
  Stream(unsigned flags, int priority);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();
  operator CUstream() const { return s; }
  CUresult destroy();
};

class Event {
 public:
  CUevent e = nullptr;
  explicit Event(unsigned flags = CU_EVENT_DISABLE_TIMING);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();
  operator CUevent() const { return e; }
  CUresult destroy();
};

class Graph {
 public:
  CUgraph h = nullptr;
  Graph();
  explicit Graph(CUgraph adopt) : h(adopt) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();
  operator CUgraph() const { return h; }
  CUresult destroy();
};

class Exec {
 public:
  CUgraphExec h = nullptr;
  explicit Exec(CUgraph graph, unsigned long long flags = 0);
  Exec(const Exec&) = delete;
  Exec& operator=(const Exec&) = delete;
  ~Exec();
  operator CUgraphExec() const { return h; }
  CUresult destroy();
};

class DevMem {
 public:
  CUdeviceptr p = 0;
  explicit DevMem(size_t bytes);
  DevMem(const DevMem&) = delete;
  DevMem& operator=(const DevMem&) = delete;
  ~DevMem();
  operator CUdeviceptr() const { return p; }
};

// A context of its own; the current one stays as it was.
CUcontext make_context(unsigned flags = 0);

// The second context on the same device. It takes long to make and to destroy, so it is made once
// in a process, outside the time of any case (flag TWO), and shared by the cases of that process.
class OtherCtx {
 public:
  CUcontext c;
  OtherCtx();
  OtherCtx(const OtherCtx&) = delete;
  OtherCtx& operator=(const OtherCtx&) = delete;
  operator CUcontext() const { return c; }
  CUresult destroy() const;  // only in a case that has a process of its own
};

// Makes a context current for a scope.
class Current {
 public:
  explicit Current(CUcontext c);
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();
};

// Changes the calling thread's capture mode for a scope.
class ThreadMode {
 public:
  explicit ThreadMode(CUstreamCaptureMode m);
  ThreadMode(const ThreadMode&) = delete;
  ThreadMode& operator=(const ThreadMode&) = delete;
  ~ThreadMode();

 private:
  CUstreamCaptureMode old_;
};

}  // namespace weir::conformance
