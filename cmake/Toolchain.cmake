# How weir's own code is compiled. Everything is said per target: a project that adds weir keeps its own flags.

# Compiling again what has not changed is the larger part of a developer's waiting.
find_program(WEIR_CCACHE ccache)
mark_as_advanced(WEIR_CCACHE)
if(WEIR_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${WEIR_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WEIR_CCACHE})
endif()

# What every file of ours is compiled with and may include: the public headers and src/. Private to our own targets.
add_library(weir_internal INTERFACE)
target_compile_features(weir_internal INTERFACE cxx_std_20)
target_include_directories(weir_internal INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(weir_internal INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
target_compile_options(
  weir_internal
  INTERFACE
    -Wall
    -Wextra
    -Wpedantic
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>
    $<$<AND:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wshadow=local;-Wno-subobject-linkage>
    -Wconversion
    -Wno-sign-conversion
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
    $<$<BOOL:${WEIR_WERROR}>:-Werror>)

# weir_unity_build(TARGET) has its sources compiled eight at a time, which halves the time of a build from nothing. Names in
# unnamed namespaces are then unique in a target. A local name may be that of a global of another source, of which no
# compiler warns then, and g++ takes unnamed namespaces for those of a header; the preset debug compiles each source by
# itself, with all warnings.
function(weir_unity_build target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WEIR_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# What a shared library of ours is. It exports only what the linker script names, and it lacks no symbol. It stays loaded
# after dlclose, because the driver's threads, and what runs when a thread of the program ends, go on.
function(weir_shared_library target script)
  target_link_options(${target} PRIVATE LINKER:--no-undefined LINKER:-z,nodelete "LINKER:--version-script=${script}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()
