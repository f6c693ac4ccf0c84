// probe/spawn.hpp - other processes of this program.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace weir::conformance {

// Starts this program again with the arguments. stdin and stdout are closed to it, or are the given
// descriptors; `protocol` becomes kProtocolFd. -1 is none. Returns -1 if it cannot be started.
pid_t spawn_self(const std::vector<std::string>& arguments, int protocol, int in = -1,
                 int out = -1);

// Waits for a killed or ended child, but not for ever: a process stuck in the kernel is left
// behind, and *gone is false.
int reap(pid_t pid, int ms, bool* has_exited);

// "crash=SIGSEGV", "crash=exit3"
std::string describe_exit(int status, bool has_exited);

}  // namespace weir::conformance
