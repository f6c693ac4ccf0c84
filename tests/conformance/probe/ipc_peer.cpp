// probe/ipc_peer.cpp - another process of this program that opens the handles it is sent.
#include "probe/ipc_peer.hpp"

#include "probe/driver.hpp"
#include "probe/patience.hpp"
#include "probe/record.hpp"
#include "probe/spawn.hpp"
#include "probe/world.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace weir::conformance {

std::string to_hex(const void* p, size_t n) {
  static const char* d = "0123456789abcdef";
  const auto* b = static_cast<const unsigned char*>(p);
  std::string o;
  for (size_t i = 0; i < n; i++) {
    o += d[b[i] >> 4];
    o += d[b[i] & 15];
  }
  return o;
}
bool from_hex(const std::string& s, void* p, size_t n) {
  if (s.size() != 2 * n) return false;
  auto* b = static_cast<unsigned char*>(p);
  for (size_t i = 0; i < n; i++) {
    unsigned v = 0;
    if (sscanf(s.c_str() + 2 * i, "%2x", &v) != 1) return false;
    b[i] = static_cast<unsigned char>(v);
  }
  return true;
}

Peer::Peer() {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) throw Abort{"pipe"};
  pid_ = spawn_self({"--ipc-peer"}, -1, to[0], from[1]);
  close(to[0]);
  close(from[1]);
  in_ = to[1];
  out_ = from[0];
  if (pid_ < 0) throw Abort{"spawn"};
}

Peer::~Peer() {
  close(in_);
  close(out_);
  bool gone = false;
  reap(pid_, 200, &gone);
  if (gone) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Peer::send(const std::string& line) {
  const std::string s = line + "\n";
  if (write(in_, s.data(), s.size()) < 0) return;
}

std::string Peer::receive(int ms) {
  std::string line;
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const int left = ms - static_cast<int>(seconds_since(begin) * 1000);
    if (left <= 0) return "no_answer";
    pollfd f{out_, POLLIN, 0};
    if (poll(&f, 1, left) <= 0) return "no_answer";
    char c;
    if (read(out_, &c, 1) <= 0) return "gone";
    if (c == '\n') return line;
    line += c;
  }
}

std::string Peer::ask(const std::string& line, int ms) {
  send(line);
  return receive(ms);
}

int ipc_peer_main() {
  signal(SIGPIPE, SIG_IGN);
  alarm(15);
  if (!load_library()) return 2;
  CUevent ev = nullptr;
  CUdeviceptr mem = 0;
  char line[4096];
  auto say = [](const std::string& s) {
    std::string t = s + "\n";
    if (write(1, t.data(), t.size()) < 0) _exit(1);
  };
  while (fgets(line, sizeof line, stdin)) {
    std::string l(line);
    while (!l.empty() && (l.back() == '\n' || l.back() == '\r')) l.pop_back();
    std::string arg;
    size_t sp = l.find(' ');
    if (sp != std::string::npos) {
      arg = l.substr(sp + 1);
      l.resize(sp);
    }
    if (l == "init") {
      CUresult e = cuInit(0);
      if (e == CUDA_SUCCESS) e = cuDeviceGet(&g.dev, 0);
      if (e == CUDA_SUCCESS) e = cuDevicePrimaryCtxRetain(&g.ctx, g.dev);
      if (e == CUDA_SUCCESS) e = cuCtxSetCurrent(g.ctx);
      say(result_name(e));
    } else if (l == "event") {
      CUipcEventHandle h;
      from_hex(arg, &h, sizeof h);
      say(result_name(cuIpcOpenEventHandle(&ev, h)));
    } else if (l == "query") {
      say(result_name(cuEventQuery(ev)));
    } else if (l == "sync") {
      say(result_name(cuEventSynchronize(ev)));
    } else if (l == "record") {
      say(result_name(cuEventRecord(ev, nullptr)));
    } else if (l == "destroy") {
      say(result_name(cuEventDestroy(ev)));
    } else if (l == "mem") {
      CUipcMemHandle h;
      from_hex(arg, &h, sizeof h);
      say(result_name(cuIpcOpenMemHandle(&mem, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)));
    } else if (l == "read") {
      uint32_t v = 0;
      CUresult e = cuMemcpyDtoH(&v, mem, 4);
      say(e == CUDA_SUCCESS ? std::to_string(v) : result_name(e));
    } else if (l == "write") {
      CUresult e = cuMemsetD32(mem, static_cast<unsigned>(atoi(arg.c_str())), 1);
      if (e == CUDA_SUCCESS) e = cuCtxSynchronize();
      say(result_name(e));
    } else if (l == "close") {
      say(result_name(cuIpcCloseMemHandle(mem)));
    } else {
      say("unknown");
    }
  }
  _exit(0);
}

}  // namespace weir::conformance
