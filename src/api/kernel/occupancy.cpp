// api/kernel/occupancy.cpp - how many blocks of a kernel a device runs at a time.
#include <weir/kernel/kernel.hpp>

#include "api/device/make_current.hpp"
#include "api/kernel/kernel_state.hpp"
#include "api/kernel/launch_attributes.hpp"
#include "api/kernel/launch_failure.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir {

using detail::check;
using detail::describe;
using detail::driver;
using detail::require_open;
using detail::throw_error;

unsigned kernel::max_active_blocks(unsigned threads, unsigned shared_bytes, call_site at) const {
  constexpr const char* call = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
  const detail::kernel_state& state = require_open(*this, call, at);
  const detail::make_current current{state.context, at};
  int blocks = 0;
  const abi::CUresult answer = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, state.function, static_cast<int>(threads), shared_bytes);
  check(answer, call, {}, at);
  return static_cast<unsigned>(blocks);
}

unsigned kernel::max_cooperative_blocks(unsigned threads, unsigned shared_bytes,
                                        call_site at) const {
  const unsigned each = max_active_blocks(threads, shared_bytes, at);
  return each *
         static_cast<unsigned>(device(at).attribute(device_attribute::multiprocessor_count, at));
}

block_suggestion kernel::suggest_block(unsigned shared_bytes, unsigned max_threads,
                                       call_site at) const {
  constexpr const char* call = "cuOccupancyMaxPotentialBlockSize";
  const detail::kernel_state& state = require_open(*this, call, at);
  const detail::make_current current{state.context, at};
  int blocks = 0;
  int threads = 0;
  check(driver().cuOccupancyMaxPotentialBlockSize(&blocks, &threads, state.function, nullptr,
                                                  shared_bytes, static_cast<int>(max_threads)),
        call, {}, at);
  return {static_cast<unsigned>(threads), static_cast<unsigned>(blocks)};
}

std::size_t kernel::available_dynamic_shared(unsigned blocks, unsigned threads,
                                             call_site at) const {
  constexpr const char* call = "cuOccupancyAvailableDynamicSMemPerBlock";
  const detail::kernel_state& state = require_open(*this, call, at);
  const detail::make_current current{state.context, at};
  std::size_t bytes = 0;
  check(driver().cuOccupancyAvailableDynamicSMemPerBlock(
            &bytes, state.function, static_cast<int>(blocks), static_cast<int>(threads)),
        call, {}, at);
  return bytes;
}

unsigned kernel::max_cluster_size(const launch_config& config, call_site at) const {
  constexpr const char* call = "cuOccupancyMaxPotentialClusterSize";
  const detail::kernel_state& state = require_open(*this, call, at);
  detail::require_complete_cluster(config, call, this, at);
  const detail::make_current current{state.context, at};
  detail::launch_attributes attributes{config};
  const abi::CUlaunchConfig raw = attributes.driver_config(config, nullptr);
  int blocks = 0;
  check(driver().cuOccupancyMaxPotentialClusterSize(&blocks, state.function, &raw), call, {}, at);
  return static_cast<unsigned>(blocks);
}

unsigned kernel::max_active_clusters(const launch_config& config, call_site at) const {
  constexpr const char* call = "cuOccupancyMaxActiveClusters";
  const detail::kernel_state& state = require_open(*this, call, at);
  detail::require_complete_cluster(config, call, this, at);
  const detail::make_current current{state.context, at};
  detail::launch_attributes attributes{config};
  const abi::CUlaunchConfig raw = attributes.driver_config(config, nullptr);
  int clusters = 0;
  check(driver().cuOccupancyMaxActiveClusters(&clusters, state.function, &raw), call, {}, at);
  return static_cast<unsigned>(clusters);
}

launch_config kernel::config_for(const element_count& elements, call_site at) const {
  constexpr std::size_t max_blocks = 0x7fffffff;
  unsigned threads = elements.block;
  if (threads == 0) {
    detail::kernel_state& state = require_open(*this, "cuOccupancyMaxPotentialBlockSize", at);
    const bool is_usual = elements.shared_bytes == 0;
    threads = is_usual ? state.best_block.load(std::memory_order_relaxed) : 0;
    if (threads == 0) {
      threads = std::max(suggest_block(elements.shared_bytes, 0, at).threads, 1u);
      if (is_usual) state.best_block.store(threads, std::memory_order_relaxed);
    }
  }
  const std::size_t blocks = elements.size / threads + (elements.size % threads != 0 ? 1 : 0);
  if (blocks > max_blocks) [[unlikely]] {
    throw_error(errc::invalid_value, "cuLaunchKernel", describe(*this),
                fmt::format("{} elements need {} blocks of {} threads, and a grid has at most {} "
                            "in a row; give each thread "
                            "several elements",
                            elements.size, blocks, threads, max_blocks),
                at);
  }
  return {.grid = {static_cast<unsigned>(blocks)},
          .block = {threads},
          .shared_bytes = elements.shared_bytes};
}

}  // namespace weir
