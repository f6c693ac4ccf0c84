# What the build needs of the system. All of it comes from the distribution's packages; nothing is downloaded.
# The library itself needs threads and dl at run time and {fmt}'s headers to be built, none of which its users see.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt CONFIG REQUIRED)

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
