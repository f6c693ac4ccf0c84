// weir/detail/duration.hpp - durations and deadlines without <chrono>, which costs a quarter of a
// second to include.
#pragma once

namespace weir::detail {

// A std::chrono::duration, or anything shaped like one.
template <class D>
concept duration_like = requires(const D& d) {
  static_cast<long double>(d.count());
  D::period::num;
  D::period::den;
};

// A std::chrono::time_point, or anything shaped like one.
template <class T>
concept time_point_like = requires(const T& t) {
  { t.time_since_epoch() } -> duration_like;
  { T::clock::now().time_since_epoch() } -> duration_like;
};

// The longest wait, 292 years, in nanoseconds.
inline constexpr long long forever = 0x7fff'ffff'ffff'ffff;

template <duration_like D>
constexpr long double exact_nanoseconds(const D& d) {
  return static_cast<long double>(d.count()) * (1e9L * D::period::num / D::period::den);
}

// In whole nanoseconds, rounded up so that a wait is never too short; what does not fit is
// `forever`.
constexpr long long whole_nanoseconds(long double exact) {
  if (!(exact > 0)) return 0;
  if (exact >= 9.2e18L) return forever;
  const auto whole = static_cast<long long>(exact);
  return whole + (static_cast<long double>(whole) < exact ? 1 : 0);
}

template <duration_like D>
constexpr long long nanoseconds(const D& d) {
  return whole_nanoseconds(exact_nanoseconds(d));
}

// The nanoseconds from now to a deadline; none if it has passed. Deadlines that their clock's own
// unit cannot tell do fit.
template <time_point_like T>
long long nanoseconds_until(const T& deadline) {
  return whole_nanoseconds(exact_nanoseconds(deadline.time_since_epoch()) -
                           exact_nanoseconds(T::clock::now().time_since_epoch()));
}

}  // namespace weir::detail
