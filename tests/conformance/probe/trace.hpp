// probe/trace.hpp - host functions that note that they ran.
#pragma once

#include "probe/abi.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weir::conformance {

// Things that driver threads may touch after a case is over are never freed.
template <class T, class... A>
T* leak(A&&... a) {
  return new T(std::forward<A>(a)...);
}

// Names in the order in which they were noted. Thread safe.
class Trace {
 public:
  void add(const std::string& name);
  void clear();
  size_t size();
  bool has(const std::string& name);
  std::string str();                 // "a,b,c", or "-" for none
  bool wait_size(size_t n, int ms);  // are there n within ms?

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> names_;
};

Trace& new_trace();

// The user data of every host function and host node that the probe makes: a name, and where to
// note it.
struct Label {
  std::string name;
  Trace* trace;
};

Label* new_label(const std::string& name, Trace* trace = nullptr);
const Label* as_label(const void* user_data);  // nullptr if it is no label

// The host function of a label.
void label_fn(void* label);

// A host function that runs a closure.
using Closure = std::function<void()>;
void closure_fn(void* closure);

// Enqueue a label that notes its name in a trace, or nowhere.
CUresult try_hf(CUstream s, Trace& t, const std::string& name);
void hf(CUstream s, Trace& t, const std::string& name);
void lab(CUstream s, const std::string& name);

// Enqueues a closure.
CUresult hf_do(CUstream s, Closure f);

}  // namespace weir::conformance
