// SPDX-License-Identifier: Apache-2.0
// probe/owners.hpp - driver objects that are destroyed at the end of a case. Their destructors
// never throw.
#pragma once

#include "probe/abi.hpp"

#include <cstddef>

namespace weir::conformance {

// A stream. Its destructor ends a capture that the case left open.
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

// Creates a context; the current context does not change.
CUcontext make_context(unsigned flags = 0);

// The second context on the device. Creating and destroying it is slow, so each process creates it
// once, outside the time of any case (flag SECOND_CONTEXT), and its cases share it.
class OtherCtx {
 public:
  CUcontext c;
  OtherCtx();
  OtherCtx(const OtherCtx&) = delete;
  OtherCtx& operator=(const OtherCtx&) = delete;
  operator CUcontext() const { return c; }
  CUresult destroy() const;  // only in a case that runs in its own process
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
