# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
# Install and export: `find_package(nanoserve)` gives nanoserve::nanoserve, which needs neither Boost nor gnuplot.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nanoserve)

install(TARGETS nanoserve EXPORT nanoserveTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY src/nanoserve/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/nanoserve
  FILES_MATCHING PATTERN "*.hpp" PATTERN report EXCLUDE)
install(EXPORT nanoserveTargets NAMESPACE nanoserve:: DESTINATION ${package_dir})

configure_package_config_file(cmake/nanoserveConfig.cmake.in nanoserveConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(nanoserveConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nanoserveConfig.cmake ${PROJECT_BINARY_DIR}/nanoserveConfigVersion.cmake
  DESTINATION ${package_dir})
