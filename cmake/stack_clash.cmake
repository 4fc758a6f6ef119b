# What code that runs in fibers should be compiled with: a function whose frame is larger than
# the guard below a stack must not step across it.  -fstack-clash-protection makes the function
# touch every page on its way; with the parameter gcc does so on aarch64 too, where it otherwise
# takes for granted that a guard has 64 KB.
#
# ccc_stack_clash_flags(TARGET) gives TARGET's users the flags that their own compilers know, so
# it is called both in this tree and by the installed package, in the project that uses it.
# CCC_STACK_CLASH_PROTECTION=OFF leaves them out.
option(CCC_STACK_CLASH_PROTECTION
	"Users of ccc are compiled with -fstack-clash-protection, if their compiler knows it" ON)
mark_as_advanced(CCC_STACK_CLASH_PROTECTION)

include(CheckCSourceCompiles)
include(CheckCXXSourceCompiles)

# In OUT: those of the flags that the compiler of LANGUAGE takes.  (clang only warns of what it
# does not use, and another flag of the project may make that an error.)
function(ccc_known_stack_flags language out)
	set(known "")
	set(number 0)
	foreach(flag -fstack-clash-protection --param=stack-clash-protection-guard-size=12)
		math(EXPR number "${number} + 1")
		set(result CCC_STACK_CLASH_${language}_${number})
		string(REPLACE ";" " " CMAKE_REQUIRED_FLAGS "${known};${flag}")
		set(program "int main(void) { return 0; }")
		set(refusal FAIL_REGEX "unused|[Uu]nknown|[Uu]nrecogni[sz]ed|not (supported|recogni[sz]ed)")
		if(language STREQUAL C)
			check_c_source_compiles("${program}" ${result} ${refusal})
		else()
			check_cxx_source_compiles("${program}" ${result} ${refusal})
		endif()
		if(NOT ${result})
			break()	# the parameter alone means nothing
		endif()
		list(APPEND known ${flag})
	endforeach()
	set(${out} "${known}" PARENT_SCOPE)
endfunction()

function(ccc_stack_clash_flags target)
	get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
	if(NOT CCC_STACK_CLASH_PROTECTION)
		return()
	endif()
	foreach(language C CXX)
		if(NOT language IN_LIST languages)
			continue()
		endif()
		ccc_known_stack_flags(${language} flags)
		# (What is exported is left to the package: its user has another compiler.)
		foreach(flag ${flags})
			target_compile_options(${target} INTERFACE
				$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:${language}>:${flag}>>)
		endforeach()
	endforeach()
endfunction()
