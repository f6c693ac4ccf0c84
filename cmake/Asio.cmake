# Standalone Asio, for tests and examples of the headers that are for its users. Sets WEIR_ASIO where it is, and knows the
# compiler's coroutines: 1.22 does not know those of clang with libstdc++.
find_path(ASIO_INCLUDE_DIR asio/bind_cancellation_slot.hpp)  # 1.22 or later
mark_as_advanced(ASIO_INCLUDE_DIR)
if(ASIO_INCLUDE_DIR)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -std=c++20)
  set(CMAKE_REQUIRED_INCLUDES ${ASIO_INCLUDE_DIR})
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("#include <asio/awaitable.hpp>
                             asio::awaitable<void> nothing() { co_return; }
                             int main() {}" WEIR_ASIO)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_QUIET)
endif()

function(weir_use_asio target)
  target_include_directories(${target} SYSTEM PRIVATE ${ASIO_INCLUDE_DIR})
  # GCC 12 takes the memory of Asio's coroutines for that of another operator new than it is.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)
  # The thread sanitizer knows nothing of fences; Asio's locks do what they are for, too.
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
    target_compile_definitions(${target} PRIVATE ASIO_DISABLE_FENCED_BLOCK)
  endif()
endfunction()
