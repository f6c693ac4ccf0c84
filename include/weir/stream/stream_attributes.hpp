// SPDX-License-Identifier: Apache-2.0
// weir/stream/stream_attributes.hpp - attributes of a stream that can be set after it was created.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <optional>

namespace weir {

/// The way in which a thread waits in stream.sync(). The numbers are the driver's.
enum class sync_policy : int {
  unset = -1,     ///< never set: the context's policy applies. Cannot be set
  automatic = 1,  ///< the driver chooses
  spin = 2,       ///< wakes up soonest, and uses a processor
  yield = 3,      ///< spins, and lets other threads run in between
  block = 4,      ///< sleeps
};

/// The use of the cache by an access. The numbers are the driver's.
enum class cache_hint : int { normal = 0, streaming = 1, persisting = 2 };

/// A range of device memory that kernels of the stream treat differently in the device's cache.
/// device_attribute::max_access_window_bytes is the maximum size. A limit of the context says how
/// many bytes can persist; it is 0 unless the program sets it (CU_LIMIT_PERSISTING_L2_CACHE_SIZE).
struct access_window {
  /// Start of the range.
  void* base = nullptr;
  /// Size in bytes; 0: no range.
  std::size_t bytes = 0;
  /// The fraction of accesses, 0 to 1, that use `hit`; the others use `miss`.
  float hit_ratio = 1.0f;
  cache_hint hit = cache_hint::persisting;
  cache_hint miss = cache_hint::streaming;  ///< must not be persisting
  friend bool operator==(const access_window&, const access_window&) noexcept = default;
};

/// The memory synchronisation domain of a stream: when a kernel makes its writes visible to other
/// devices, it waits only for writes of its own domain. The numbers are the driver's.
enum class sync_domain : int { standard = 0, remote = 1 };

/// Maps the two values of sync_domain to domains of the device. device_attribute::sync_domain_count
/// is the number of domains.
struct sync_domain_map {
  unsigned char standard = 0;
  unsigned char remote = 1;
  friend bool operator==(const sync_domain_map&, const sync_domain_map&) noexcept = default;
};

/// Attributes to set together. Empty members stay as they are.
struct stream_settings {
  std::optional<int> priority = {};
  std::optional<weir::sync_policy> sync_policy = {};
  std::optional<weir::access_window> access_window = {};
  std::optional<weir::sync_domain> sync_domain = {};
  std::optional<weir::sync_domain_map> sync_domain_map = {};
};

/// The attributes of a stream; they apply to work that is queued afterwards. A plain value that
/// borrows the stream.
///
///   weir::stream_attributes{s}.set_sync_policy(weir::sync_policy::block);
///
/// Errors name the attribute as stream_settings does.
///
/// In a capture: allowed; the captured work has the attributes.
/// In a host function: throws `not_permitted`.
/// Thread safety: all members may be called from any thread.
/// Driver: cuStreamGetAttribute, cuStreamSetAttribute.
class WEIR_EXPORT stream_attributes {
 public:
  /// Refers to the attributes of a stream.
  constexpr explicit stream_attributes(stream_ref stream) noexcept : stream_{stream} {}

  /// Returns the priority; a smaller number is served earlier.
  [[nodiscard]] int priority(call_site at = call_site::current()) const;
  /// Sets the priority. stream_ref::priority() returns the new value, unless it was set directly
  /// through the driver.
  ///
  /// Throws: `invalid_value` with the allowed range if it is outside device::priorities(). (The
  /// driver would silently use the nearest priority.)
  void set_priority(int priority, call_site at = call_site::current()) const;

  /// Returns how a thread waits in sync().
  [[nodiscard]] weir::sync_policy sync_policy(call_site at = call_site::current()) const;
  /// Sets how a thread waits in sync().
  void set_sync_policy(weir::sync_policy policy, call_site at = call_site::current()) const;

  /// Returns the range with special cache behaviour.
  [[nodiscard]] weir::access_window access_window(call_site at = call_site::current()) const;
  /// Sets the range with special cache behaviour.
  void set_access_window(const weir::access_window& window,
                         call_site at = call_site::current()) const;

  /// Returns the synchronisation domain.
  [[nodiscard]] weir::sync_domain sync_domain(call_site at = call_site::current()) const;
  /// Sets the synchronisation domain.
  void set_sync_domain(weir::sync_domain domain, call_site at = call_site::current()) const;

  /// Returns the mapping of domains.
  [[nodiscard]] weir::sync_domain_map sync_domain_map(call_site at = call_site::current()) const;
  /// Sets the mapping of domains.
  void set_sync_domain_map(weir::sync_domain_map map, call_site at = call_site::current()) const;

  /// Sets all attributes that are present, or none: if one fails, or memory runs out, the earlier
  /// ones are restored.
  ///
  /// Throws: the first error, which names the attribute. If the driver does not allow an attribute
  /// to be restored, it stays changed, and that error is attached (error::attached()).
  void set(const stream_settings& settings, call_site at = call_site::current()) const;

  /// Copies all attributes of another stream. The stream stays blocking or non-blocking, since that
  /// is no attribute.
  ///
  /// Throws: `invalid_value` unless both streams belong to one context, or to green contexts of it.
  /// Driver: cuStreamCopyAttributes.
  void copy_from(stream_ref source, call_site at = call_site::current()) const;

 private:
  stream_ref stream_;
};

/// Creates a stream with these attributes on the primary context of a device. On failure nothing is
/// left behind.
[[nodiscard]] WEIR_EXPORT stream make_stream(device gpu, const stream_options& options,
                                             const stream_settings& settings,
                                             call_site at = call_site::current());
/// Creates a stream with these attributes on a context. On failure nothing is left behind.
[[nodiscard]] WEIR_EXPORT stream make_stream(context_ref context, const stream_options& options,
                                             const stream_settings& settings,
                                             call_site at = call_site::current());

}  // namespace weir
