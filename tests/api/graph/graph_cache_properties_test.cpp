// SPDX-License-Identifier: Apache-2.0
// graph_cache_properties_test.cpp - random programs: with a cache they leave the memory contents
// that they leave without one.
#include <weir/graph/graph_cache.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

constexpr int keys = 4;
constexpr std::size_t words = 3;

// One step of a program: a use of a key, a change of its body, or an operation on the cache.
struct step {
  enum class action { use, change_version, change_and_invalidate, erase, clear, throws } what;
  int key;
  std::uint32_t value;  // for a change: what the body does from then on
  bool second_stream;
};

void showValue(const step& s, std::ostream& os) {  // NOLINT: the name that RapidCheck looks for
  static constexpr const char* names[] = {
      "use", "change the version of", "change and invalidate", "erase", "clear", "throw in"};
  os << names[static_cast<int>(s.what)] << " key " << s.key << " with " << s.value
     << (s.second_stream ? " in the second stream" : "");
}

rc::Gen<step> arbitrary_step() {
  using action = step::action;
  return rc::gen::build<step>(rc::gen::set(&step::what, rc::gen::weightedElement<action>(
                                                            {{12, action::use},
                                                             {3, action::change_version},
                                                             {2, action::change_and_invalidate},
                                                             {1, action::erase},
                                                             {1, action::clear},
                                                             {1, action::throws}})),
                              rc::gen::set(&step::key, rc::gen::inRange(0, keys)),
                              rc::gen::set(&step::value, rc::gen::inRange<std::uint32_t>(0, 100)),
                              rc::gen::set(&step::second_stream, rc::gen::arbitrary<bool>()));
}

// A body's operations follow from its value, in number and kind. Any other order or number of them
// changes the result.
std::uint32_t mix(std::uint32_t before, std::uint32_t with) { return before * 31 + with; }
std::size_t operations(std::uint32_t content) { return content % 4; }
bool cannot_be_captured(std::uint32_t content) { return content % 5 == 3; }

void queue(cache_scope& in, const stream& fork, std::uint32_t* memory, std::uint32_t content) {
  for (std::size_t i = 0; i < operations(content); ++i) {
    const auto with = content + static_cast<std::uint32_t>(i);
    if ((content + i) % 3 == 0) {
      fill(in, memory + with % words, 1, with);
    } else {
      launch_host(in.stream(), [at = memory + with % words, with] { *at = mix(*at, with); });
    }
  }
  if (content % 7 == 1) {
    fork.wait(in.stream());
    fill(fork, memory, 1, content);
    in.stream().wait(fork);
  }
  if (content % 7 == 2) {
    buffer<std::uint32_t> own{in.stream(), 8};
    own.close();
  }
  if (cannot_be_captured(content)) static_cast<void>(in.stream().done());
}

void apply_on_host(std::vector<std::uint32_t>& memory, std::uint32_t content) {
  for (std::size_t i = 0; i < operations(content); ++i) {
    const auto with = content + static_cast<std::uint32_t>(i);
    std::uint32_t& at = memory[with % words];
    at = (content + i) % 3 == 0 ? with : mix(at, with);
  }
  if (content % 7 == 1) memory[0] = content;
}

struct thrown {};

RC_GTEST_PROP(GraphCacheProperties, ACacheLeavesTheSameMemoryContentsAsEagerRuns, ()) {
  const auto steps = *rc::gen::container<std::vector<step>>(arbitrary_step());
  const test::unhandled_errors unhandled;
  const device gpu;
  const stream s{gpu};
  const stream t{gpu};
  const stream fork{gpu};
  pinned_buffer<std::uint32_t> memory{words};
  std::fill(memory.begin(), memory.end(), 0u);
  std::vector<std::uint32_t> expected(words, 0);
  std::vector<std::uint32_t> contents(keys, 1);
  std::vector<unsigned long long> versions(keys, 0);
  graph_cache<int> cache{{.capacity = 3}};
  for (const step& each : steps) {
    const auto key = static_cast<std::size_t>(each.key);
    const stream& in = each.second_stream ? t : s;
    const stream& other = each.second_stream ? s : t;
    switch (each.what) {
      case step::action::use:
        in.wait(other);
        cache.run(in, each.key, versions[key],
                  [&](cache_scope& scope) { queue(scope, fork, memory.data(), contents[key]); });
        apply_on_host(expected, contents[key]);
        break;
      case step::action::change_version:
        contents[key] = each.value;
        ++versions[key];
        break;
      case step::action::change_and_invalidate:
        contents[key] = each.value;
        cache.invalidate(each.key);
        break;
      case step::action::erase: cache.erase(each.key); break;
      case step::action::clear: cache.clear(); break;
      case step::action::throws: {
        const auto fails = [&](cache_scope& scope) {
          if (scope.capturing()) queue(scope, fork, memory.data(), 4 * each.value + 4);
          throw thrown{};
        };
        RC_ASSERT_THROWS_AS(cache.run(in, each.key, 1'000'000, fails), thrown);
        break;
      }
    }
  }
  s.wait(t);
  s.sync();
  RC_ASSERT(std::equal(memory.begin(), memory.end(), expected.begin()));
  RC_ASSERT(unhandled.count() == 0u);
  RC_ASSERT(cache.counts().size <= 3u);
}

}  // namespace
}  // namespace weir
