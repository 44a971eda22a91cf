# assay_room(NAME DEPENDS ... PRIVATE ...): the static library assay_NAME from every source under src/NAME,
# but for src/backend/cuda, which assay_cuda_backend() adds.
function(assay_room name)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/src/backend/cuda/")
  add_library(assay_${name} STATIC ${sources})
  target_link_libraries(assay_${name} PUBLIC assay_options ${ROOM_DEPENDS} PRIVATE ${ROOM_PRIVATE})
endfunction()

# assay_library(NAME ROOMS ... HEADER_ONLY ...): the one library that applications link, made of the rooms'
# objects and linked with what they use. HEADER_ONLY names what is needed to compile the rooms and not to
# link them, so that the installed package does not ask for it.
function(assay_library name)
  cmake_parse_arguments(LIBRARY "" "" "ROOMS;HEADER_ONLY" ${ARGN})
  add_library(${name} STATIC)
  add_library(${name}::${name} ALIAS ${name})
  foreach(room ${LIBRARY_ROOMS})
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:assay_${room}>)
    get_target_property(links assay_${room} LINK_LIBRARIES)
    list(FILTER links EXCLUDE REGEX "^assay_")
    list(REMOVE_ITEM links ${LIBRARY_HEADER_ONLY})
    target_link_libraries(${name} PRIVATE ${links})
  endforeach()
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# assay_test(NAME DEPENDS ...): the GoogleTest program NAME_tests from tests/NAME/*.cpp. Suites whose name
# ends in "Slow" carry the label `slow` instead of NAME: `ctest -LE slow` leaves them out.
function(assay_test name)
  cmake_parse_arguments(TEST "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/${name}/*.cpp")
  if(NOT ASSAY_CUDA)
    list(FILTER sources EXCLUDE REGEX "/cuda_[^/]*$")
  endif()
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_tests ${sources})
  target_include_directories(${name}_tests PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_compile_definitions(${name}_tests PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name}_tests PRIVATE assay_options ${TEST_DEPENDS} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name}_tests TEST_PREFIX "${name}." TEST_FILTER "-*Slow.*" DISCOVERY_MODE PRE_TEST
                       NO_PRETTY_VALUES PROPERTIES LABELS "${name}" TIMEOUT 300)
  gtest_discover_tests(${name}_tests TEST_PREFIX "${name}." TEST_FILTER "*Slow.*" DISCOVERY_MODE PRE_TEST
                       NO_PRETTY_VALUES TEST_LIST ${name}_slow_tests PROPERTIES LABELS "slow" TIMEOUT 900)
endfunction()
