# How every target is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# For the sanitizers: fast enough to run networks, and line numbers without the rest of the debug
# information, which takes most of a sanitizer build's time and disk.
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1" CACHE STRING "C++ flags of the build type Sanitize")
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1" CACHE STRING "C flags of the build type Sanitize")

find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ASSAY_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${ASSAY_CCACHE})
endif()

add_library(assay_options INTERFACE)
target_include_directories(assay_options INTERFACE "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}/src")
# Appends options for the host's compilers: nvcc has its own.
function(assay_host_options)
  target_compile_options(assay_options INTERFACE "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${ARGV}>")
endfunction()
assay_host_options(-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
                   -Wimplicit-fallthrough)
# GCC 12 warns of "text" + std::string(...) (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  assay_host_options(-Wno-restrict)
endif()
if(ASSAY_WERROR)
  assay_host_options(-Werror)
endif()
# Results must not depend on whether the compiler chose to fuse a multiply and an add.
assay_host_options(-ffp-contract=off)
if(ASSAY_SANITIZE)
  assay_host_options(-fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(assay_options INTERFACE -fsanitize=${ASSAY_SANITIZE})
endif()
if(ASSAY_STATIC)
  # The old kind of run path holds for what the libraries beside the program need themselves, too.
  target_link_options(assay_options INTERFACE -static-libstdc++ -static-libgcc -Wl,--disable-new-dtags)
endif()
