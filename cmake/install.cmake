# install.cmake: `cmake --install` gives the libraries, the headers, the program, a CMake package and pkg-config files.

include(CMakePackageConfigHelpers)

install(TARGETS pelt pelt-fit pelt-gl EXPORT pelt-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET pelt-cuda)
  install(TARGETS pelt-cuda EXPORT pelt-targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/pelt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES gpu/skin.glsl DESTINATION ${CMAKE_INSTALL_DATADIR}/pelt)
if(TARGET pelt-program)
  install(TARGETS pelt-program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # The man page and the completion come from the same tables as `pelt help`.
  add_custom_command(TARGET pelt-program POST_BUILD
                     COMMAND $<TARGET_FILE:pelt-program> help --man > ${CMAKE_BINARY_DIR}/pelt.1
                     COMMAND $<TARGET_FILE:pelt-program> completion bash > ${CMAKE_BINARY_DIR}/pelt.bash
                     COMMAND $<TARGET_FILE:pelt-program> completion zsh > ${CMAKE_BINARY_DIR}/pelt.zsh
                     COMMAND $<TARGET_FILE:pelt-program> completion fish > ${CMAKE_BINARY_DIR}/pelt.fish VERBATIM)
  install(FILES ${CMAKE_BINARY_DIR}/pelt.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/pelt.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME pelt)
  install(FILES ${CMAKE_BINARY_DIR}/pelt.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _pelt)
  install(FILES ${CMAKE_BINARY_DIR}/pelt.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(EXPORT pelt-targets NAMESPACE pelt:: FILE pelt-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pelt)
configure_package_config_file(cmake/pelt-config.cmake.in ${CMAKE_BINARY_DIR}/pelt-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pelt)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/pelt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/pelt-config.cmake ${CMAKE_BINARY_DIR}/pelt-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pelt)

# Static libraries leave their dependencies to the program that links them.
if(OpenMP_C_FOUND)
  string(REPLACE ";" " " PELT_OPENMP_FLAGS "${OpenMP_C_FLAGS}")
endif()
# The prefix is where the file lies, so that an installed tree can be moved.
file(RELATIVE_PATH PELT_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library pelt pelt-fit pelt-gl)
  configure_file(cmake/${library}.pc.in ${CMAKE_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
