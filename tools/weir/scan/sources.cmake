# weir_scan_sources(TARGET): gives a program the job of `weir scan`, and in it the text of its kernels, so that it runs where
# the tree is not.
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
