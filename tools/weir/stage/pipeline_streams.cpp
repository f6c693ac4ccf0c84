// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/pipeline_streams.cpp - creates the streams of a run and waits for them.
#include "stage/pipeline_streams.hpp"

#include <weir/core/error.hpp>

namespace weir::tool {

pipeline_streams::pipeline_streams(weir::device device, int streams) {
  streams_.reserve(static_cast<std::size_t>(streams));
  for (int i = 0; i < streams; ++i) streams_.emplace_back(device);
}

pipeline_streams::~pipeline_streams() {
  for (const stream& s : streams_) {
    try {
      s.sync();
    } catch (const weir::error&) {
      // The run is ending because of this error or an earlier one, and reports it.
    }
  }
}

void pipeline_streams::sync() const {
  for (const stream& s : streams_) s.sync();
}

}  // namespace weir::tool
