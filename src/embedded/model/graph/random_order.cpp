// model/random_order.cpp - drawing lots among the nodes that may come next.
#include "embedded/model/graph/random_order.hpp"

#include <random>
#include <utility>

namespace weir::embedded::model {

std::vector<std::uint32_t> random_order(const flat_graph& of, std::uint64_t seed) {
  const std::uint32_t count = of.outer_node_count();
  // The nodes behind each, one node's after the other's.
  std::vector<std::uint32_t> ends(count + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const std::uint32_t before : of.dependencies_of(i)) ++ends[before + 1];
  }
  for (std::uint32_t i = 0; i < count; ++i) ends[i + 1] += ends[i];
  std::vector<std::uint32_t> successors(ends[count]);
  std::vector<std::uint32_t> next{ends};
  std::vector<std::uint32_t> missing(count);
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const std::uint32_t before : of.dependencies_of(i)) successors[next[before]++] = i;
    missing[i] = static_cast<std::uint32_t>(of.dependencies_of(i).size());
    if (missing[i] == 0) ready.push_back(i);
  }

  std::mt19937_64 random{seed};
  std::vector<std::uint32_t> order;
  order.reserve(count);
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const std::uint32_t chosen = ready.back();
    ready.pop_back();
    order.push_back(chosen);
    for (std::uint32_t i = ends[chosen]; i < ends[chosen + 1]; ++i) {
      if (--missing[successors[i]] == 0) ready.push_back(successors[i]);
    }
  }
  return order;
}

}  // namespace weir::embedded::model
