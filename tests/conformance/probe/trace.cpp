// SPDX-License-Identifier: Apache-2.0
// probe/trace.cpp - host functions that record that they ran.
#include "probe/trace.hpp"

#include "probe/driver.hpp"
#include "probe/record.hpp"
#include "probe/time_limits.hpp"

#include <algorithm>
#include <set>

namespace weir::conformance {
namespace {

std::mutex g_labels_mutex;
std::set<const void*> g_labels;

}  // namespace

void Trace::add(const std::string& name) {
  std::lock_guard lock(mutex_);
  names_.push_back(name);
  changed_.notify_all();
}

void Trace::clear() {
  std::lock_guard lock(mutex_);
  names_.clear();
}

size_t Trace::size() {
  std::lock_guard lock(mutex_);
  return names_.size();
}

bool Trace::has(const std::string& name) {
  std::lock_guard lock(mutex_);
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

std::string Trace::str() {
  std::lock_guard lock(mutex_);
  std::string out;
  for (const std::string& name : names_) out += (out.empty() ? "" : ",") + name;
  return out.empty() ? "-" : out;
}

bool Trace::wait_size(size_t n, int ms) {
  std::unique_lock lock(mutex_);
  return wait_for(changed_, lock, ms, [&] { return names_.size() >= n; });
}

Trace& new_trace() { return *leak<Trace>(); }

Label* new_label(const std::string& name, Trace* trace) {
  Label* label = new Label{name, trace};
  std::lock_guard lock(g_labels_mutex);
  g_labels.insert(label);
  return label;
}

const Label* as_label(const void* user_data) {
  std::lock_guard lock(g_labels_mutex);
  return g_labels.count(user_data) ? static_cast<const Label*>(user_data) : nullptr;
}

void label_fn(void* label) {
  auto* l = static_cast<Label*>(label);
  if (l && l->trace) l->trace->add(l->name);
}

void closure_fn(void* closure) { (*static_cast<Closure*>(closure))(); }

CUresult try_hf(CUstream s, Trace& t, const std::string& name) {
  return cuLaunchHostFunc(s, label_fn, new_label(name, &t));
}
void hf(CUstream s, Trace& t, const std::string& name) {
  OK(cuLaunchHostFunc(s, label_fn, new_label(name, &t)));
}
void lab(CUstream s, const std::string& name) {
  OK(cuLaunchHostFunc(s, label_fn, new_label(name)));
}
CUresult hf_do(CUstream s, Closure f) {
  return cuLaunchHostFunc(s, closure_fn, new Closure(std::move(f)));
}

}  // namespace weir::conformance
