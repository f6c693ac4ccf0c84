# What `cmake --install` puts where: headers, both libraries, the drop-in, the tool, and how other projects find them.
include(CMakePackageConfigHelpers)

set(WEIR_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

install(
  TARGETS weir weir_static
  EXPORT weirTargets
  FILE_SET HEADERS
  FILE_SET interop)
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${WEIR_CMAKE_DIR})

# The drop-in has a folder of its own: in the linker's path it would hide the driver of a GPU.
install(TARGETS weir_dropin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weir)
# What Python programs on it need beside it, and no other Python program should have.
install(FILES tools/python/sitecustomize.py DESTINATION ${CMAKE_INSTALL_DATADIR}/weir/python)

if(WEIR_BUILD_TOOLS)
  install(TARGETS weir_tool)
endif()

configure_package_config_file(cmake/weirConfig.cmake.in ${PROJECT_BINARY_DIR}/weirConfig.cmake
                              INSTALL_DESTINATION ${WEIR_CMAKE_DIR})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${WEIR_CMAKE_DIR})

# The prefix is relative to the file, so that an installed tree can be moved.
cmake_path(SET WEIR_PC_DIR ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH WEIR_PC_DIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE WEIR_PC_RELATIVE)
string(REGEX REPLACE "[^/]+" ".." WEIR_PC_UP ${WEIR_PC_RELATIVE})
set(WEIR_PC_PREFIX "\${pcfiledir}/${WEIR_PC_UP}")
configure_file(cmake/weir.pc.in ${PROJECT_BINARY_DIR}/weir.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weir.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
