# install.cmake: `cmake --install` gives the libraries, the headers, the program, a CMake package and pkg-config files.

include(CMakePackageConfigHelpers)

get_property(offered GLOBAL PROPERTY PELT_OFFERED)
install(TARGETS ${offered} EXPORT pelt-targets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/pelt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES gpu/skin.glsl DESTINATION ${CMAKE_INSTALL_DATADIR}/pelt)
if(TARGET pelt-program)
  install(TARGETS pelt-program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET pelt-mpi)
    install(TARGETS pelt-mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  # The man page and the completion come from the same tables as `pelt help`.
  add_custom_command(TARGET pelt-program POST_BUILD
                     COMMAND $<TARGET_FILE:pelt-program> help --man > ${PROJECT_BINARY_DIR}/pelt.1
                     COMMAND $<TARGET_FILE:pelt-program> completion bash > ${PROJECT_BINARY_DIR}/pelt.bash
                     COMMAND $<TARGET_FILE:pelt-program> completion zsh > ${PROJECT_BINARY_DIR}/pelt.zsh
                     COMMAND $<TARGET_FILE:pelt-program> completion fish > ${PROJECT_BINARY_DIR}/pelt.fish VERBATIM)
  install(FILES ${PROJECT_BINARY_DIR}/pelt.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_BINARY_DIR}/pelt.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME pelt)
  install(FILES ${PROJECT_BINARY_DIR}/pelt.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _pelt)
  install(FILES ${PROJECT_BINARY_DIR}/pelt.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(EXPORT pelt-targets NAMESPACE pelt:: FILE pelt-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pelt)
configure_package_config_file(cmake/pelt-config.cmake.in ${PROJECT_BINARY_DIR}/pelt-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pelt)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pelt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pelt-config.cmake ${PROJECT_BINARY_DIR}/pelt-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pelt)

# pelt_pc(NAME DESCRIPTION REQUIRES OTHERS LIBRARIES): a pkg-config file of one of the libraries. A static library leaves OTHERS
# and LIBRARIES to the program that links it. The prefix is where the file lies, so that an installed tree can be moved.
file(RELATIVE_PATH PELT_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
function(pelt_pc name description requires others libraries)
  if(BUILD_SHARED_LIBS)
    set(private_requires ${others})
    set(libraries "")
  else()
    string(STRIP "${requires} ${others}" requires)
  endif()
  configure_file(cmake/pelt.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
pelt_pc(pelt "Runs skins of real-time characters" "" "" "-l${libm}")
pelt_pc(pelt-gl "Runs skins of real-time characters by OpenGL" pelt "" "")
if(TARGET pelt-fit)
  string(REPLACE ";" " " openmp "${OpenMP_C_FLAGS}")
  pelt_pc(pelt-fit "Makes skins of real-time characters from examples" pelt "jansson lapacke openblas" "${openmp} -l${libm}")
endif()
if(TARGET pelt-cuda)
  find_package(CUDAToolkit REQUIRED)
  pelt_pc(pelt-cuda "Runs skins of real-time characters on NVIDIA's processors" pelt ""
          "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lstdc++ -ldl -lrt -lpthread")
endif()
