# What `cmake --install` puts where: the program, the library with its headers, and the two ways in which
# other projects find it, find_package(assay) and pkg-config.
include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/assay")
install(TARGETS assay EXPORT assayTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS assay_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/assay)
install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${package_folder})

configure_package_config_file(cmake/assayConfig.cmake.in assayConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(assayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# From the .pc file's folder up to the prefix, so that an installed tree can be moved.
file(RELATIVE_PATH up_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/assay.pc.in assay.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/assayConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/assayConfigVersion.cmake" DESTINATION ${package_folder})
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/assay.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
