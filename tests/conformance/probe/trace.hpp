// SPDX-License-Identifier: Apache-2.0
// probe/trace.hpp - host functions that record that they ran.
#pragma once

#include "probe/abi.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weir::conformance {

// Creates an object that is never freed, because driver threads may use it after the case.
template <class T, class... A>
T* leak(A&&... a) {
  return new T(std::forward<A>(a)...);
}

// Names in the order in which they were recorded. Thread safe.
class Trace {
 public:
  void add(const std::string& name);
  void clear();
  size_t size();
  bool has(const std::string& name);
  std::string str();                 // "a,b,c", or "-" for none
  bool wait_size(size_t n, int ms);  // returns true if there are n within ms

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> names_;
};

Trace& new_trace();

// The user data of every host function and host node of the probe: a name, and where to record it.
struct Label {
  std::string name;
  Trace* trace;
};

Label* new_label(const std::string& name, Trace* trace = nullptr);
const Label* as_label(const void* user_data);  // nullptr if it is not a label

// The host function of a label.
void label_fn(void* label);

// A host function that runs a closure.
using Closure = std::function<void()>;
void closure_fn(void* closure);

// Enqueue a host function that records its name in a trace, or nowhere.
CUresult try_hf(CUstream s, Trace& t, const std::string& name);
void hf(CUstream s, Trace& t, const std::string& name);
void lab(CUstream s, const std::string& name);

// Enqueues a closure.
CUresult hf_do(CUstream s, Closure f);

}  // namespace weir::conformance
