# Install rules: headers, libraries, the CMake package and ccc.pc.
# All of it finds its own prefix, so the tree may be moved after installation.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ccc)

install(DIRECTORY include/ccc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
	FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS ${libraries} EXPORT ccc
	ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
	LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT ccc NAMESPACE ccc:: FILE cccTargets.cmake DESTINATION ${package_dir})

configure_package_config_file(cmake/cccConfig.cmake.in cccConfig.cmake
	INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(cccConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
	${CMAKE_CURRENT_BINARY_DIR}/cccConfig.cmake
	${CMAKE_CURRENT_BINARY_DIR}/cccConfigVersion.cmake
	cmake/stack_clash.cmake
	DESTINATION ${package_dir})

# The gdb script: once for everything, and where gdb looks for that of the shared library: in a
# directory of its own, which gdb trusts and which belongs to the prefix /usr; otherwise beside it.
set(gdb_script tools/gdb/ccc-gdb.py)
install(FILES ${gdb_script} DESTINATION ${CMAKE_INSTALL_DATADIR}/ccc)
if(CCC_BUILD_SHARED)
	set(gdb_name libccc.so.${PROJECT_VERSION}-gdb.py)
	if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
		install(FILES ${gdb_script} RENAME ${gdb_name}
			DESTINATION ${CMAKE_INSTALL_DATADIR}/gdb/auto-load/usr/${CMAKE_INSTALL_LIBDIR})
	else()
		install(FILES ${gdb_script} DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME ${gdb_name})
	endif()
endif()

# In ccc.pc the prefix is relative to the file, unless libdir is absolute.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
	set(pc_prefix ${CMAKE_INSTALL_PREFIX})
	set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
	file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
	string(REGEX REPLACE "/$" "" up ${up})
	set(pc_prefix "\${pcfiledir}/${up}")
	set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
	set(pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
	set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_DATADIR})
	set(pc_datadir ${CMAKE_INSTALL_DATADIR})
else()
	set(pc_datadir "\${prefix}/${CMAKE_INSTALL_DATADIR}")
endif()
set(pc_stack_more "")
if(cpu STREQUAL aarch64)	# see stack_clash.cmake
	set(pc_stack_more " --param=stack-clash-protection-guard-size=12")
endif()
configure_file(cmake/ccc.pc.in ccc.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ccc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Manual pages, documentation, and the programs that they show.  The pages are made by a script;
# without python3 they are left out.
set(manual_pages OFF)
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
	set(manual_pages ON)
	file(GLOB manual_sources CONFIGURE_DEPENDS include/ccc/*.h docs/man3.examples/*.c
		docs/man1/*.md docs/man7/*.md tools/manual tools/manual.d/*.py packaging/debian/changelog)
	add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/man/stamp
		COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_CURRENT_BINARY_DIR}/man
		COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/manual pages
			${CMAKE_CURRENT_BINARY_DIR}/man
		COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_CURRENT_BINARY_DIR}/man/stamp
		DEPENDS ${manual_sources} VERBATIM)
	add_custom_target(manual ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/man/stamp)
	install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/man/man1 ${CMAKE_CURRENT_BINARY_DIR}/man/man3
		${CMAKE_CURRENT_BINARY_DIR}/man/man7 DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}
	PATTERN "man1" EXCLUDE PATTERN "man7" EXCLUDE)
install(FILES README.md CHANGES.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "run" EXCLUDE)
