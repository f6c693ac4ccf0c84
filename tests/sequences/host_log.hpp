// SPDX-License-Identifier: Apache-2.0
// sequences/host_log.hpp - records which host functions and callbacks ran, and their order in each
// stream.
#pragma once

#include "driver/abi.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace weir::sequences {

class host_log {
 public:
  // The argument of one host function or callback. Valid until the log is destroyed.
  struct label {
    host_log* log;
    std::string stream, text;
  };

  label* make(std::string stream) {
    const std::lock_guard lock{mutex_};
    std::string text = std::to_string(labels_.size());
    return &labels_.emplace_back(label{this, std::move(stream), std::move(text)});
  }

  static void CUDA_CB ran(void* data) {
    const label& one = *static_cast<label*>(data);
    const std::lock_guard lock{one.log->mutex_};
    one.log->lines_[one.stream] += " " + one.text;
  }

  static void CUDA_CB on_callback(abi::CUstream, abi::CUresult status, void* data) {
    const label& one = *static_cast<label*>(data);
    const std::lock_guard lock{one.log->mutex_};
    one.log->lines_[one.stream] += " " + one.text + (status == abi::CUDA_SUCCESS ? "" : "!");
  }

  // Returns one line for each stream, since the order between streams is unspecified. Empties the
  // log.
  std::vector<std::string> take() {
    const std::lock_guard lock{mutex_};
    std::vector<std::string> lines;
    for (const auto& [stream, ran] : lines_) lines.push_back("ran in " + stream + ":" + ran);
    lines_.clear();
    return lines;
  }

 private:
  std::mutex mutex_;
  std::deque<label> labels_;
  std::map<std::string, std::string> lines_;
};

}  // namespace weir::sequences
