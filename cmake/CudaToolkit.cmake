# The CUDA toolkit, for the tests and examples that are nvcc's. Sets CUDAToolkit_FOUND, and CMAKE_CUDA_COMPILER where nvcc
# works and the code may be its: nvcc knows nothing of the sanitizers here.

# CMake 3.25 looks at a library of the toolkit that went with CUDA 13, and fails where it is not.
if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
find_package(CUDAToolkit QUIET)

if(CUDAToolkit_FOUND AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS ${CUDAToolkit_NVCC_EXECUTABLE})
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  check_language(CUDA)
endif()
