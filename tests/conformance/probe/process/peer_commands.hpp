// SPDX-License-Identifier: Apache-2.0
// probe/process/peer_commands.hpp - what the other process of the IPC cases does when it is asked.
#pragma once

#include "probe/abi.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace weir::conformance {

// Answers lines of the form "verb.SLOT ARGUMENT", where ".SLOT" (0 to 3, which object is meant) and
// the argument may be missing. The answer is the name of a result, a number, or a handle in
// hexadecimal.
//
// init                   the driver, the primary context of the first device
// exit                   ends the process at once
// event HANDLE           opens an event           | make_event FLAGS  makes one; its handle
// event_handle           the event's handle       | query sync destroy  of the event
// record                 on the legacy stream     | record_s wait_s   on its own stream
// hold                   its own stream stops     | open              all of it goes on
// idle                   queries its own stream
// mem HANDLE             opens memory             | make_mem BYTES    word i holds 1000 + i
// mem_handle OFFSET      handle of an address     | close free        of the memory
// read OFFSET            a word of it             | write VALUE       its first word
// make_pool TYPES        an exportable pool       | export_pool       sends its descriptor
// pool_alloc BYTES       memory as by make_mem    | export_pointer    describes that memory
// pool_free              frees that memory        | pool_destroy      destroys the pool
// pool_attr NUMBER       an attribute of it
class PeerCommands {
 public:
  std::string answer(const std::string& line);

 private:
  static constexpr size_t kSlots = 4;
  struct Request;
  using Command = std::string (PeerCommands::*)(const Request&);
  struct NamedCommand;
  static const NamedCommand commands_[];

  std::string init(const Request&);
  std::string open_event(const Request&);
  std::string make_event(const Request&);
  std::string event_handle(const Request&);
  std::string query(const Request&);
  std::string sync(const Request&);
  std::string destroy(const Request&);
  std::string record(const Request&);
  std::string record_s(const Request&);
  std::string wait_s(const Request&);
  std::string hold(const Request&);
  std::string open(const Request&);
  std::string idle(const Request&);
  std::string open_mem(const Request&);
  std::string make_mem(const Request&);
  std::string mem_handle(const Request&);
  std::string close_mem(const Request&);
  std::string free_mem(const Request&);
  std::string read(const Request&);
  std::string write(const Request&);
  std::string make_pool(const Request&);
  std::string export_pool(const Request&);
  std::string pool_alloc(const Request&);
  std::string export_pointer(const Request&);
  std::string pool_free(const Request&);
  std::string pool_destroy(const Request&);
  std::string pool_attr(const Request&);

  CUresult fill(CUdeviceptr memory, size_t bytes);

  std::array<CUevent, kSlots> events_{};
  std::array<CUdeviceptr, kSlots> memory_{};
  CUmemoryPool pool_ = nullptr;
  CUstream stream_ = nullptr;
  unsigned char* word_ = nullptr;  // the word that hold() waits for
  CUdeviceptr word_dev_ = 0;
  uint32_t holds_ = 0;
};

}  // namespace weir::conformance
