# The CUDA backend: built by default where there is a CUDA compiler. The runtime is linked statically, so
# that the program starts on machines without a GPU, too.
include(CheckLanguage)
# The kernels use what compute capability 9.0 alone has.
set(CMAKE_CUDA_ARCHITECTURES 90a-real)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  option(ASSAY_CUDA "Build the CUDA backend" ON)
else()
  option(ASSAY_CUDA "Build the CUDA backend" OFF)
endif()

if(ASSAY_CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "ASSAY_CUDA is on, but there is no CUDA compiler: put nvcc on the PATH or set CUDACXX")
  endif()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  if(ASSAY_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${ASSAY_CCACHE})
  endif()
  enable_language(CUDA)
  # CMake 3.25 does not know this flag of nvcc's.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  # nvcc searches where its host compiler does: naming such a folder again would change the order.
  list(APPEND CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
  find_package(CUDAToolkit REQUIRED)
  # For assay.pc.
  set(ASSAY_CUDA_LIBS " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl")
endif()

# Adds src/backend/cuda to the backend room where ASSAY_CUDA is on.
function(assay_cuda_backend)
  if(NOT ASSAY_CUDA)
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/backend/cuda/*.cpp"
       "${CMAKE_SOURCE_DIR}/src/backend/cuda/*.cu")
  target_sources(assay_backend PRIVATE ${sources})
  target_compile_definitions(assay_backend PRIVATE ASSAY_CUDA)
  target_compile_options(assay_backend PRIVATE
                         "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")
  # Only the backend itself calls CUDA; its headers are another project's, so no warnings of theirs count.
  target_include_directories(assay_backend SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(assay_backend PRIVATE CUDA::cudart_static)
endfunction()
