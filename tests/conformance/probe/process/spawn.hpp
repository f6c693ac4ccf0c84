// SPDX-License-Identifier: Apache-2.0
// probe/process/spawn.hpp - starts other processes of this program.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace weir::conformance {

// Starts this program again with the arguments. The child's stdin and stdout are closed, or are the
// given descriptors; `protocol` becomes kProtocolFd; -1 means none. Returns -1 if it cannot be
// started.
pid_t spawn_self(const std::vector<std::string>& arguments, int protocol, int in = -1,
                 int out = -1);

// Waits up to ms for a killed or ended child. A process stuck in the kernel is abandoned, and
// *has_exited is false.
int reap(pid_t pid, int ms, bool* has_exited);

// Returns for example "crash=SIGSEGV" or "crash=exit3".
std::string describe_exit(int status, bool has_exited);

}  // namespace weir::conformance
