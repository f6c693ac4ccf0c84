// sequences/host_log.hpp - what host functions and callbacks saw: which ran, in which order in
// their stream.
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
  // What one host function or callback is given. Valid until the log ends.
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

  // One line a stream, since the order between streams is open. Empties the log.
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
