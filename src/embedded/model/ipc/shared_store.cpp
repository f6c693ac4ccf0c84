// model/shared_store.cpp - stores of device memory, and the list of pieces at their front.
#include "embedded/model/ipc/shared_store.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <new>

namespace weir::embedded::model {

namespace {

constexpr std::size_t all_addresses = std::size_t{1} << 47;

// No block lies so low: the system gives out no such addresses.
constexpr std::size_t front_bytes = (sizeof(store_front) + 4095) / 4096 * 4096;
static_assert(front_bytes <= std::size_t{1} << 20);

constexpr int most_devices = 64;

}  // namespace

shared_store* shared_store::create(int device, const abi::CUmemLocation& place) noexcept {
  shared_memory segment = shared_memory::create(all_addresses, "weir-device");
  if (!segment) return nullptr;
  auto* front = static_cast<store_front*>(segment.map(0, front_bytes));
  if (front == nullptr) return nullptr;
  if (getrandom(&front->identity, sizeof front->identity, 0) != sizeof front->identity) {
    munmap(front, front_bytes);
    return nullptr;
  }
  front->process = getpid();
  front->device = device;
  front->place = place;
  front->mark = store_front::right_mark;
  auto* made = new (std::nothrow) shared_store{std::move(segment), front};
  if (made == nullptr) munmap(front, front_bytes);
  return made;
}

shared_store* shared_store::of_device(int device) noexcept {
  static constinit std::array<std::atomic<shared_store*>, most_devices> stores{};
  static constinit std::mutex making;
  if (device < 0 || device >= most_devices) return nullptr;
  std::atomic<shared_store*>& known = stores[static_cast<std::size_t>(device)];
  if (shared_store* store = known.load(std::memory_order_acquire)) return store;
  const std::lock_guard lock{making};
  shared_store* store = known.load(std::memory_order_acquire);
  if (store == nullptr) {
    store = create(device, {abi::CU_MEM_LOCATION_TYPE_DEVICE, device});
    known.store(store, std::memory_order_release);
  }
  return store;
}

shared_store::~shared_store() { munmap(front_, front_bytes); }

void shared_store::release() noexcept {
  if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

bool shared_store::place(void* at, std::size_t bytes) noexcept {
  if (segment_.map(reinterpret_cast<std::uintptr_t>(at), bytes, at) == nullptr) return false;
  retain();
  return true;
}

void shared_store::remove(void* at, std::size_t bytes) noexcept {
  madvise(at, bytes, MADV_REMOVE);
  munmap(at, bytes);
  release();
}

void shared_store::vacate(void* at, std::size_t bytes) noexcept {
  madvise(at, bytes, MADV_REMOVE);
  mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  release();
}

int shared_store::publish(unsigned long long id, std::uintptr_t address, std::size_t bytes) noexcept {
  const std::lock_guard lock{mutex_};
  int number = 0;
  while (number < used_ && front_->pieces[static_cast<std::size_t>(number)].id.load(std::memory_order_relaxed) != 0) {
    ++number;
  }
  if (number == static_cast<int>(store_front::capacity)) return -1;
  if (number == used_) ++used_;
  shared_piece& piece = front_->pieces[static_cast<std::size_t>(number)];
  // Who reads one of these two while another piece is here finds the id of that one, or none, afterwards.
  std::atomic_thread_fence(std::memory_order_release);
  piece.address.store(address, std::memory_order_relaxed);
  piece.bytes.store(bytes, std::memory_order_relaxed);
  piece.id.store(id, std::memory_order_release);
  return number;
}

void shared_store::withdraw(int piece) noexcept {
  const std::lock_guard lock{mutex_};
  front_->pieces[static_cast<std::size_t>(piece)].id.store(0, std::memory_order_release);
}

}  // namespace weir::embedded::model
