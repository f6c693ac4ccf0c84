// SPDX-License-Identifier: Apache-2.0
// weir/types.h - the few type traits that these headers need of their own.
#pragma once

template <class T, class U>
struct weir_is_same {
  enum { value = 0 };
};
template <class T>
struct weir_is_same<T, T> {
  enum { value = 1 };
};

template <bool B, class T = void>
struct weir_if {};
template <class T>
struct weir_if<true, T> {
  typedef T type;
};

// Keeps a parameter out of deduction.
template <class T>
struct weir_same {
  typedef T type;
};

template <class T>
struct weir_integral {
  enum { value = 0 };
};
template <>
struct weir_integral<bool> {
  enum { value = 1 };
};
template <>
struct weir_integral<char> {
  enum { value = 1 };
};
template <>
struct weir_integral<signed char> {
  enum { value = 1 };
};
template <>
struct weir_integral<unsigned char> {
  enum { value = 1 };
};
template <>
struct weir_integral<short> {
  enum { value = 1 };
};
template <>
struct weir_integral<unsigned short> {
  enum { value = 1 };
};
template <>
struct weir_integral<int> {
  enum { value = 1 };
};
template <>
struct weir_integral<unsigned> {
  enum { value = 1 };
};
template <>
struct weir_integral<long> {
  enum { value = 1 };
};
template <>
struct weir_integral<unsigned long> {
  enum { value = 1 };
};
template <>
struct weir_integral<long long> {
  enum { value = 1 };
};
template <>
struct weir_integral<unsigned long long> {
  enum { value = 1 };
};

// A type whose values do nothing when they are read, copied or computed with: no class, but for a few that say so.
template <class T>
struct weir_plain {
  enum { value = !__is_class(T) && !__is_union(T) };
};
template <class T>
struct weir_plain<T&> {
  enum { value = 0 };
};
template <class T>
struct weir_plain<const T> : weir_plain<T> {};
template <class T, size_t N>
struct weir_plain<T[N]> : weir_plain<T> {};

// Room for a value that is made later. A plain one is its own: compilers make less of what lies in a union.
template <class T>
union weir_unmade {
  T value;
  __attribute__((always_inline)) weir_unmade() {}
};
template <class T, bool Plain = weir_plain<T>::value>
struct weir_room {
  typedef weir_unmade<T> type;
};
template <class T>
struct weir_room<T, true> {
  typedef T type;
};
template <class T>
WEIR_HD T& weir_in(T& room) {
  return room;
}
template <class T>
WEIR_HD T& weir_in(weir_unmade<T>& room) {
  return room.value;
}

// An unsigned integer of N bytes.
template <unsigned N>
struct weir_bits;
template <>
struct weir_bits<1> {
  typedef unsigned char type;
};
template <>
struct weir_bits<2> {
  typedef unsigned short type;
};
template <>
struct weir_bits<4> {
  typedef unsigned type;
};
template <>
struct weir_bits<8> {
  typedef unsigned long long type;
};
template <>
struct weir_bits<16> {
  typedef unsigned __int128 type;
};

template <class To, class From>
WEIR_HD To weir_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "the bits of one are those of the other");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
