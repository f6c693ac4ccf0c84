// SPDX-License-Identifier: Apache-2.0
// soak/every_kind/graph_scenario.cpp - memory, launches, and parameters of nodes.
#include "soak/every_kind/graph_scenario.hpp"

#include <weir/graph/nodes/copy_node.hpp>
#include <weir/memory/fill.hpp>

#include <stdexcept>
#include <utility>

namespace weir::test {

using detail::driver;

namespace {

// *x = value, by one thread.
constexpr const char* store_ptx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry store(.param .u64 x, .param .u32 value)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [x];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

}  // namespace

graph_scenario::graph_scenario(bool by_hand) : kinds_{by_hand, !gpu_.is_embedded()} {
  for (const buffer<value>* memory :
       {&line_, &rows_, &box_, &child_, &awaited_there_, &cells_, &stored_})
    fill(s_, std::span<value>{const_cast<value*>(memory->data()), memory->size()}, 0);
  for (unsigned which = 0; which < 2; ++which) {
    for (std::size_t i = 0; i < result_offset::volume_size; ++i)
      sources_[which * result_offset::volume_size + i] = expected_results::in_volume(which, i);
  }
  for (value& one : results_) one = 0;
  stored_at_ = stored_.data();
  if (kinds_.kernels &&
      (driver().cuModuleLoadData(&module_, store_ptx) != abi::CUDA_SUCCESS ||
       driver().cuModuleGetFunction(&store_, module_, "store") != abi::CUDA_SUCCESS))
    throw std::runtime_error{"the kernel cannot be loaded"};
  s_.sync();
}

graph_scenario::~graph_scenario() {
  s_.sync();
  t_.sync();
  if (module_ != nullptr) driver().cuModuleUnload(module_);
}

// The next value is written once the previous launch has read its own.
void graph_scenario::launch(const graph_exec& exec, unsigned events) {
  t_.wait(done_[last_events_]);
  fill(t_, awaited_there_, ++awaited_);
  t_.record(ready_[events]);
  exec.launch(s_);
  last_events_ = events;
}

std::vector<outcome> graph_scenario::outcomes() {
  s_.sync();
  const std::lock_guard lock{mutex_};
  return std::exchange(outcomes_, {});
}

void graph_scenario::snapshot() {
  outcome seen;
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = results_[i];
  seen[result_offset::batch] = word_.load();
  const std::lock_guard lock{mutex_};
  outcomes_.push_back(seen);
}

host_function_parameters graph_scenario::host_function(value setting) {
  return host_function_parameters{[this, setting] {
    results_[result_offset::host] = setting;
    ++results_[result_offset::launches];
  }};
}

value_batch graph_scenario::batch(value setting) {
  value_batch steps;
  steps.write(word_, setting).wait(word_, until::eq, setting);
  return steps;
}

graph graph_scenario::child(value setting) {
  graph g;
  const fill_node first = g.add(fill_parameters{std::span{child_.data(), child_.size()}, setting});
  g.tag(first, "fill of child");
  static_cast<void>(g.add(copy_parameters{std::span<const value>{child_.data(), child_.size()},
                                          result(result_offset::child, result_offset::child_size)},
                          {first}));
  return g;
}

// The driver copies the values that the arguments point to.
kernel_parameters graph_scenario::store(const value& setting) {
  arguments_ = {&stored_at_, const_cast<value*>(&setting)};
  return kernel_parameters{store_, {1}, {1}, arguments_.data()};
}

}  // namespace weir::test
