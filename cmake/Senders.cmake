# stdexec, for tests of the header that is for users of senders; where it is not, what stands in for it in the tests.
find_path(STDEXEC_INCLUDE_DIR stdexec/execution.hpp)
mark_as_advanced(STDEXEC_INCLUDE_DIR)
if(STDEXEC_INCLUDE_DIR)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -std=c++20)
  set(CMAKE_REQUIRED_INCLUDES ${STDEXEC_INCLUDE_DIR})
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("#include <stdexec/execution.hpp>
                             stdexec::receiver_tag tag;
                             int main() {}" WEIR_STDEXEC_SAYS_TAG)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_QUIET)
endif()

function(weir_use_senders target)
  if(NOT STDEXEC_INCLUDE_DIR)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/interop/senders)
    return()
  endif()
  target_include_directories(${target} SYSTEM PRIVATE ${STDEXEC_INCLUDE_DIR})
  if(NOT WEIR_STDEXEC_SAYS_TAG)  # its older name
    target_compile_definitions(${target} PRIVATE receiver_tag=receiver_t)
  endif()
endfunction()
