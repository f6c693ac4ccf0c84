// SPDX-License-Identifier: Apache-2.0
// Lesson 31: a server on one thread whose requests a device answers. Asio coroutines await sockets
// and streams alike.
#include <algorithm>
#include <array>
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <random>
#include <system_error>
#include <utility>
#include <vector>
#include <weir/interop/asio.hpp>
#include <weir/weir.hpp>

namespace {

using asio::use_awaitable;
using asio::ip::tcp;
using bytes = std::vector<unsigned char>;
using histogram = std::array<unsigned, 256>;

constexpr std::size_t request_size = 64 * 1024;
constexpr int clients = 8;
constexpr int requests_each = 25;

struct server {
  weir::device gpu;
  weir::kernel count;
  int on_device = 0;  // used on one thread only
  int most_on_device = 0;
  int answered = 0;
};

// A request is a block of bytes, and its answer is the count of each value.
asio::awaitable<void> session(server& home, tcp::socket peer) {
  const weir::stream s{home.gpu};
  weir::pinned_buffer<unsigned char> in{request_size, home.gpu};
  weir::pinned_buffer<unsigned> out{256, home.gpu};
  weir::buffer<unsigned char> x{s, request_size};
  weir::buffer<unsigned> counts{s, 256};
  for (;;) {
    co_await asio::async_read(peer, asio::buffer(in.data(), request_size), use_awaitable);
    weir::copy(s, in, x);
    weir::fill(s, counts, 0U);
    weir::launch(s, weir::grid(request_size), home.count, weir::in(x), request_size,
                 weir::inout(counts));
    weir::copy(s, counts, out);
    home.most_on_device = std::max(home.most_on_device, ++home.on_device);
    co_await weir::async_wait(s.completion(), use_awaitable);  // the thread serves others
    --home.on_device;
    co_await asio::async_write(peer, asio::buffer(out.data(), sizeof(histogram)), use_awaitable);
    ++home.answered;
  }
}

// An error ends its session. In most cases the client has disconnected.
void ended(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::system_error& e) {  // an error of Asio or of weir
    if (e.code() != asio::error::eof) std::printf("a session ends: %s\n", e.what());
  }
}

asio::awaitable<void> listen(server& home, tcp::acceptor& at) {
  for (int i = 0; i < clients; ++i) {
    tcp::socket peer = co_await at.async_accept(use_awaitable);
    asio::co_spawn(at.get_executor(), session(home, std::move(peer)), ended);
  }
}

asio::awaitable<void> client(tcp::endpoint server, unsigned seed, bool& right) {
  tcp::socket peer{co_await asio::this_coro::executor};
  co_await peer.async_connect(server, use_awaitable);
  std::minstd_rand random{seed};
  bytes request(request_size);
  histogram expected, answer;
  for (int i = 0; i < requests_each; ++i) {
    expected.fill(0);
    for (unsigned char& each : request)
      ++expected[each = static_cast<unsigned char>(random() % 200)];
    co_await asio::async_write(peer, asio::buffer(request), use_awaitable);
    co_await asio::async_read(peer, asio::buffer(answer), use_awaitable);
    right = right && answer == expected;
  }
}

}  // namespace

int main() {
  const weir::device gpu;
  const weir::program source{R"(
    extern "C" __global__ void count(const unsigned char* x, size_t n, unsigned* counts) {
      const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) atomicAdd(&counts[x[i]], 1u);
    }
  )"};
  server home{.gpu = gpu, .count = source.compile(gpu).kernel("count")};

  asio::io_context io;
  tcp::acceptor acceptor{io, tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
  asio::co_spawn(io, listen(home, acceptor), [](const std::exception_ptr& failure) {
    if (failure != nullptr) std::rethrow_exception(failure);
  });
  bool right = true;
  for (unsigned i = 1; i <= clients; ++i) {
    asio::co_spawn(io, client(acceptor.local_endpoint(), i, right),
                   [](const std::exception_ptr& failure) {
                     if (failure != nullptr) std::rethrow_exception(failure);
                   });
  }

  using clock = std::chrono::steady_clock;
  const clock::time_point begin = clock::now();
  io.run();  // until no wait for a socket or a stream is pending
  const double spent = std::chrono::duration<double, std::milli>{clock::now() - begin}.count();

  std::printf("%d requests of %d clients in %.0f ms, on one thread, up to %d at a time on %s\n",
              home.answered, clients, spent, home.most_on_device, gpu.name());
  right = right && home.answered == clients * requests_each;
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
