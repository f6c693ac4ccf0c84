# What the build needs of the system. All of it comes from the distribution's packages; nothing is downloaded.
# The library itself needs threads and dl at run time, and {fmt}'s headers and Boost.Context's archive to be built, none of
# which its users see.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt CONFIG REQUIRED)

# weir_fmt: the functions of {fmt}, compiled once and linked statically. They have a namespace of their own, because a program
# may have another {fmt}. Compiled header-only, {fmt} costs each source 4 s. From version 10 on it is header-only.
if(fmt_VERSION VERSION_LESS 10)
  add_library(weir_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cpp)
  target_include_directories(weir_fmt SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_features(weir_fmt PUBLIC cxx_std_20)
  target_compile_definitions(weir_fmt PUBLIC "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace weir_fmt {"
                                             "FMT_END_NAMESPACE=}}")
  set_target_properties(weir_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                            VISIBILITY_INLINES_HIDDEN ON)
  set(WEIR_FMT_OBJECTS $<TARGET_OBJECTS:weir_fmt>)
else()
  add_library(weir_fmt INTERFACE)
  target_link_libraries(weir_fmt INTERFACE fmt::fmt-header-only)
endif()

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
