// SPDX-License-Identifier: Apache-2.0
// weir/interop/detail/stdexec_library.hpp - selects the sender library: std::execution of C++26,
// else stdexec.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>
#include <version>

#if defined(__cpp_lib_senders)
#include <execution>
#include <stop_token>
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#else
#error "weir/interop/stdexec.hpp is for programs that have std::execution (C++26) or stdexec"
#endif

namespace weir::detail {

namespace senders {
#if defined(__cpp_lib_senders)
using namespace ::std::execution;
using ::std::get_stop_token;
using ::std::unstoppable_token;
#else
using namespace ::stdexec;
#endif
}  // namespace senders

/// The tag type by which a type declares that it is a sender. Versions of the library name it
/// differently (sender_t, sender_tag), so it is taken from a sender of the library. The tags of
/// operations and schedulers below are found in this way, too; they are void if the version needs
/// none.
using sender_concept_type = typename std::remove_cvref_t<decltype(senders::just())>::sender_concept;

template <class Operation>
struct operation_concept_type_of {
  using type = void;
};
template <class Operation>
requires requires { typename Operation::operation_state_concept; }
struct operation_concept_type_of<Operation> {
  using type = typename Operation::operation_state_concept;
};
template <class Receiver, class... Values>
using operation_concept_type = typename operation_concept_type_of<decltype(senders::connect(
    senders::just(std::declval<Values>()...), std::declval<Receiver>()))>::type;

template <class Operation>
struct scheduler_concept_type_of {
  using type = void;
};
template <class Operation>
requires requires { typename Operation::scheduler_concept; }
struct scheduler_concept_type_of<Operation> {
  using type = typename Operation::scheduler_concept;
};
using scheduler_concept_type = typename scheduler_concept_type_of<
    std::remove_cvref_t<decltype(std::declval<senders::run_loop&>().get_scheduler())>>::type;

/// The type of a receiver's stop token.
template <class Receiver>
using stop_token_of = std::remove_cvref_t<decltype(senders::get_stop_token(
    senders::get_env(std::declval<const Receiver&>())))>;

/// The completion signatures of weir's senders.
template <class... Values>
using signatures_of = senders::completion_signatures<senders::set_value_t(Values...),
                                                     senders::set_error_t(std::exception_ptr),
                                                     senders::set_stopped_t()>;

}  // namespace weir::detail
