// stdexec/execution.hpp - stands in for stdexec where that is not installed: the concepts of
// C++26's [exec], as far as weir's senders and their tests meet them, and the few algorithms that
// the tests use. Only what is asked of users is here: members named set_value, set_error,
// set_stopped, connect, start, get_env, query and schedule.
#pragma once

#include <stdexec/algorithms.hpp>
#include <stdexec/concepts.hpp>
#include <stdexec/stop_token.hpp>
