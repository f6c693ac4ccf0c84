// SPDX-License-Identifier: Apache-2.0
// soak/every_kind/by_capture.cpp - captures the graph from four streams.
#include <weir/capture/capture.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream_fork.hpp>

#include <cstring>
#include <stdexcept>

#include "soak/every_kind/graph_scenario.hpp"

namespace weir::test {

using detail::driver;

namespace {

void must(abi::CUresult result) {
  if (result != abi::CUDA_SUCCESS) throw std::runtime_error{"a raw call fails in the capture"};
}

abi::CUdeviceptr address(const void* of) { return reinterpret_cast<abi::CUdeviceptr>(of); }

// Copies a 2 x 2 x 2 box directly through the driver.
void copy_box(stream_ref in, const value* from, value* to) {
  abi::CUDA_MEMCPY3D what;
  std::memset(&what, 0, sizeof what);
  what.srcMemoryType = what.dstMemoryType = abi::CU_MEMORYTYPE_UNIFIED;
  what.srcDevice = address(from);
  what.srcPitch = what.dstPitch = what.WidthInBytes = 2 * sizeof(value);
  what.dstDevice = address(to);
  what.srcHeight = what.dstHeight = 2;
  what.Height = what.Depth = 2;
  must(driver().cuMemcpy3DAsync_v2(&what, in.get()));
}

}  // namespace

graph graph_scenario::build_by_capture(const settings& now) {
  return capture(s_, [&](capture_scope& scope) {
    stream_fork f{scope, 4};
    const auto tag = [&](stream_ref in, const char* name) {
      scope.graph().tag(capture_info_of(in).frontier.at(0).node, name);
    };
    fill(f[0], line_, now.fill);
    tag(f[0], "fill");
    copy(f[0], line_, result(result_offset::line, result_offset::line_size));
    tag(f[0], "copy");

    const pitched_span<value> part = rows().part(1, 1, 2, 2);
    must(driver().cuMemsetD2D32Async(address(part.data()), pitch, now.rows, 2, 2, f[1].get()));
    tag(f[1], "rows");
    abi::CUDA_MEMCPY2D what;
    std::memset(&what, 0, sizeof what);
    what.srcMemoryType = what.dstMemoryType = abi::CU_MEMORYTYPE_UNIFIED;
    what.srcDevice = address(rows_.data());
    what.srcPitch = pitch;
    what.dstDevice = address(row_results().data());
    what.dstPitch = what.WidthInBytes = result_offset::rows_width * sizeof(value);
    what.Height = result_offset::rows_height;
    must(driver().cuMemcpy2DAsync_v2(&what, f[1].get()));
    launch_host(f[1], [this, setting = now.host] {
      results_[result_offset::host] = setting;
      ++results_[result_offset::launches];
    });
    tag(f[1], "host");

    copy(f[2], volume(now.volume), packed_box());
    tag(f[2], "volume");
    copy_box(f[2], box_.data(), results_.data() + result_offset::volume);
    batch(now.batch).submit(f[2]);
    tag(f[2], "batch");

    {
      buffer<value> scratch{f[3], result_offset::allocated_size};
      copy(f[3], volume(0).first(result_offset::allocated_size),
           scratch);  // an update accepts no memset of another graph's memory
      copy(f[3], scratch, result(result_offset::allocated, result_offset::allocated_size));
    }
    must(driver().cuStreamWaitEvent(f[3].get(), ready(now.events).get(),
                                    abi::CU_EVENT_WAIT_EXTERNAL));
    tag(f[3], "wait");
    copy(f[3], awaited_there_, result(result_offset::awaited, 1));
    must(driver().cuEventRecordWithFlags(done(now.events).get(), f[3].get(),
                                         abi::CU_EVENT_RECORD_EXTERNAL));
    tag(f[3], "record");

    if (kinds_.kernels) {
      static_cast<void>(store(now.kernel));
      must(driver().cuLaunchKernel(store_, 1, 1, 1, 1, 1, 1, 0, f[0].get(), arguments_.data(),
                                   nullptr));
      tag(f[0], "kernel");
      copy(f[0], stored_, result(result_offset::kernel, 1));
    }
    f.join();
    launch_host(scope, [this] { snapshot(); });
  });
}

}  // namespace weir::test
