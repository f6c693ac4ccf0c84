// weir/stream/stream_attributes.hpp - what can be set on a stream after it is made.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <optional>

namespace weir {

// How a thread waits in stream.sync(). With the driver's numbers.
enum class sync_policy : int {
  unset = -1,  // what a stream has that nobody has set it on: as the context says. Cannot be set.
  automatic = 1,  // the driver chooses
  spin = 2,       // soonest to wake, and uses a processor
  yield = 3,      // spins, and lets other threads run in between
  block = 4,      // sleeps
};

// What the cache is told of an access. With the driver's numbers.
enum class cache_hint : int { normal = 0, streaming = 1, persisting = 2 };

// A piece of device memory that kernels of the stream treat differently in the cache of the device.
// 0 bytes: none. device_attribute::max_access_window_bytes says how large it may be; the context's
// limit on the persisting part of the cache, which is 0 unless the program sets it, how much of it
// can persist.
struct access_window {
  void* base = nullptr;
  std::size_t bytes = 0;
  float hit_ratio =
      1.0f;  // the part of the accesses, 0 to 1, that are told `hit`; the others are told `miss`
  cache_hint hit = cache_hint::persisting;
  cache_hint miss = cache_hint::streaming;  // not persisting
  friend bool operator==(const access_window&, const access_window&) noexcept = default;
};

// Which writes a kernel of the stream waits for when it makes its own visible to other devices:
// those of its domain. With the driver's numbers.
enum class sync_domain : int { standard = 0, remote = 1 };

// The device's domains, of which it has device_attribute::sync_domain_count, that the two stand
// for.
struct sync_domain_map {
  unsigned char standard = 0;
  unsigned char remote = 1;
  friend bool operator==(const sync_domain_map&, const sync_domain_map&) noexcept = default;
};

// Values to set together; what is not there stays as it is.
struct stream_settings {
  std::optional<int> priority = {};
  std::optional<weir::sync_policy> sync_policy = {};
  std::optional<weir::access_window> access_window = {};
  std::optional<weir::sync_domain> sync_domain = {};
  std::optional<weir::sync_domain_map> sync_domain_map = {};
};

// The attributes of a stream. They hold for work that is queued afterwards. A plain value that
// borrows the stream.
//
//   weir::stream_attributes{s}.set_sync_policy(weir::sync_policy::block);
//
// Thread safety: any operation from any thread. In a capture: allowed, and the captured work has
// them. In a host function: refused. What fails names the attribute, as stream_settings does.
// cuStreamGetAttribute, cuStreamSetAttribute.
class WEIR_EXPORT stream_attributes {
 public:
  constexpr explicit stream_attributes(stream_ref stream) noexcept : stream_{stream} {}

  // Smaller is served earlier. Outside device::priorities() it is an error that names the range; a
  // driver would take the nearest one without a word. stream_ref::priority() tells the new one, but
  // not one that was set directly through the driver.
  [[nodiscard]] int priority(call_site at = call_site::current()) const;
  void set_priority(int priority, call_site at = call_site::current()) const;

  [[nodiscard]] weir::sync_policy sync_policy(call_site at = call_site::current()) const;
  void set_sync_policy(weir::sync_policy policy, call_site at = call_site::current()) const;

  [[nodiscard]] weir::access_window access_window(call_site at = call_site::current()) const;
  void set_access_window(const weir::access_window& window,
                         call_site at = call_site::current()) const;

  [[nodiscard]] weir::sync_domain sync_domain(call_site at = call_site::current()) const;
  void set_sync_domain(weir::sync_domain domain, call_site at = call_site::current()) const;

  [[nodiscard]] weir::sync_domain_map sync_domain_map(call_site at = call_site::current()) const;
  void set_sync_domain_map(weir::sync_domain_map map, call_site at = call_site::current()) const;

  // All that is there, or nothing: if one is refused or memory lacks, those before it are set back.
  // The error names the one that failed. What a driver does not let be set back stays, and its
  // failure is attached to the first one (error::attached()).
  void set(const stream_settings& settings, call_site at = call_site::current()) const;

  // All of another stream's, which has to be of the same context or of a green one of it (else
  // invalid_value). The kind, blocking or not, is no attribute and stays. cuStreamCopyAttributes.
  void copy_from(stream_ref other, call_site at = call_site::current()) const;

 private:
  stream_ref stream_;
};

// A stream that has them from the beginning. Fails whole: nothing is left behind.
[[nodiscard]] WEIR_EXPORT stream make_stream(device gpu, const stream_options& options,
                                             const stream_settings& settings,
                                             call_site at = call_site::current());
[[nodiscard]] WEIR_EXPORT stream make_stream(context_ref context, const stream_options& options,
                                             const stream_settings& settings,
                                             call_site at = call_site::current());

}  // namespace weir
