# What the build needs of the system. All of it comes from the distribution's packages; nothing is downloaded.
# The library itself needs threads and dl at run time, and {fmt}'s headers and Boost.Context's archive to be built, none of
# which its users see.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt CONFIG REQUIRED)

# Boost.Context, for the threads of kernels. The archive, so that nothing of Boost is needed where a program runs; and of it
# the few objects that weir's own archive takes over, so that whoever links that needs nothing of Boost either.
find_library(WEIR_BOOST_CONTEXT NAMES libboost_context.a REQUIRED)
find_path(WEIR_BOOST_INCLUDE boost/context/detail/fcontext.hpp REQUIRED)
mark_as_advanced(WEIR_BOOST_CONTEXT WEIR_BOOST_INCLUDE)
set(boost_objects ${PROJECT_BINARY_DIR}/boost_context)
file(MAKE_DIRECTORY ${boost_objects})
execute_process(COMMAND ${CMAKE_AR} x ${WEIR_BOOST_CONTEXT} WORKING_DIRECTORY ${boost_objects} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB WEIR_BOOST_CONTEXT_OBJECTS ${boost_objects}/make_*.o ${boost_objects}/jump_*.o)

if(WEIR_BUILD_TOOLS)
  find_package(CLI11 CONFIG REQUIRED)
endif()
if(WEIR_BUILD_TOOLS OR WEIR_BUILD_BENCH)
  find_package(nlohmann_json CONFIG REQUIRED)
  find_package(ZLIB REQUIRED)
endif()
if(WEIR_BUILD_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(rapidcheck CONFIG REQUIRED)
endif()
