// model/value_work.hpp - waits for and writes to words of memory, as calls and graph nodes describe them.
#pragma once

#include <cstdint>
#include <variant>

#include "driver/abi.hpp"
#include "embedded/model/work.hpp"

namespace weir::embedded::model {

inline constexpr unsigned most_operations_in_a_batch = 255;

// What is asked of the address of a word: all, or, where it is only kept for later, that it is aligned.
enum class word_check : std::uint8_t { all, alignment };

// What follows gives CUDA_SUCCESS and the work, or what is wrong: a word is aligned, in device, pinned or registered
// memory. Flags are CU_STREAM_WAIT_VALUE_* and CU_STREAM_WRITE_VALUE_*, sizes 4 or 8 bytes.
abi::CUresult make_wait(abi::CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags,
                        value_wait& out, word_check check = word_check::all);
abi::CUresult make_write(abi::CUdeviceptr address, std::uint64_t value, std::uint32_t size, unsigned flags,
                         value_write& out, word_check check = word_check::all);

// One operation of a batch. A barrier needs no work, because every operation here is one.
using value_work = std::variant<std::monostate, value_wait, value_write>;
abi::CUresult make_work(const abi::CUstreamBatchMemOpParams& operation, value_work& out,
                        word_check check = word_check::all);

}  // namespace weir::embedded::model
