// stage/pipeline_streams.cpp - making the streams of a run and waiting for them.
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
      // The run is being given up because of this or of something before it, and tells that.
    }
  }
}

void pipeline_streams::sync() const {
  for (const stream& s : streams_) s.sync();
}

}  // namespace weir::tool
