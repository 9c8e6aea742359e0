# SPDX-License-Identifier: MIT
# `cmake --install` for find_package and pkg-config, `cpack` for packages, and the target lockstep_single for one header.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers fit every architecture, and so does all that is installed: nothing goes to lib/.
set(lockstep_config_dir ${CMAKE_INSTALL_DATADIR}/cmake/lockstep)
set(lockstep_pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)

install(TARGETS lockstep EXPORT lockstep FILE_SET HEADERS)
install(EXPORT lockstep FILE lockstepTargets.cmake NAMESPACE lockstep:: DESTINATION ${lockstep_config_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/lockstepConfig.cmake.in
    ${PROJECT_BINARY_DIR}/lockstepConfig.cmake INSTALL_DESTINATION ${lockstep_config_dir}
    NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may break its users.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion
    ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/lockstepConfig.cmake ${PROJECT_BINARY_DIR}/lockstepConfigVersion.cmake
    ${CMAKE_CURRENT_LIST_DIR}/Adapters.cmake DESTINATION ${lockstep_config_dir})

# Relative to where the file lies, so that the folder may be moved.
file(RELATIVE_PATH lockstep_prefix_from_pkgconfig "/prefix/${lockstep_pkgconfig_dir}" "/prefix")
configure_file(${CMAKE_CURRENT_LIST_DIR}/lockstep.pc.in ${PROJECT_BINARY_DIR}/lockstep.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lockstep.pc DESTINATION ${lockstep_pkgconfig_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/lockstep RENAME copyright)

set(lockstep_single ${PROJECT_BINARY_DIR}/single/lockstep_single.hpp)
add_custom_command(OUTPUT ${lockstep_single}
    COMMAND ${CMAKE_COMMAND} -D INCLUDE_DIR=${PROJECT_SOURCE_DIR}/include -D VERSION=${PROJECT_VERSION}
        -D OUTPUT=${lockstep_single} -P ${CMAKE_CURRENT_LIST_DIR}/SingleHeader.cmake
    DEPENDS ${lockstep_headers} ${CMAKE_CURRENT_LIST_DIR}/SingleHeader.cmake VERBATIM)
add_custom_target(lockstep_single DEPENDS ${lockstep_single})

if(PROJECT_IS_TOP_LEVEL)
    set(CPACK_PACKAGE_NAME liblockstep-dev)
    set(CPACK_PACKAGE_VENDOR lockstep)
    set(CPACK_PACKAGE_CONTACT "the lockstep authors")
    set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
    set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
    set(CPACK_PACKAGE_FILE_NAME liblockstep-dev_${PROJECT_VERSION}_all)
    set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
    set(CPACK_GENERATOR DEB)
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
    set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
    include(CPack)
endif()
