# weir_scan_sources(TARGET): adds the job of `weir scan` to a program. The text of its kernels is compiled into the program,
# so that the program also runs on a machine without the source tree.
function(weir_scan_sources target)
  set(folder ${PROJECT_SOURCE_DIR}/tools/weir)
  file(READ ${folder}/scan/scan.cu text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/scan/scan.cu)
  configure_file(${folder}/scan/kernel_text.cpp.in scan_kernel_text.cpp @ONLY)
  target_sources(
    ${target}
    PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/scan_kernel_text.cpp
            ${folder}/scan/run_on_threads.cpp
            ${folder}/scan/findings.cpp
            ${folder}/scan/job.cpp
            ${folder}/scan/kernels.cpp
            ${folder}/scan/on_host.cpp
            ${folder}/scan/slot.cpp
  )
  target_include_directories(${target} PRIVATE ${folder})
  target_link_libraries(${target} PRIVATE ZLIB::ZLIB)
endfunction()
