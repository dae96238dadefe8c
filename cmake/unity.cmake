# ltr_unity(TARGET): compiles the sources of one folder together, twelve at a time.
#
# Most of a file's compile time goes into the headers and into the special members of the trees that they declare; twelve
# files together take little more than two alone. So names in the unnamed namespaces of one folder are unique.
# -DLTR_UNITY=OFF (preset dev) compiles file by file, which finds a missing #include.
include_guard(GLOBAL)
option(LTR_UNITY "Compile the sources of one folder together" ON)

# With FOLDERS, files of several folders stand together, and such names of all of them are unique.
function(ltr_unity target)
  cmake_parse_arguments(of "FOLDERS" "" "" ${ARGN})
  if(NOT LTR_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    get_source_file_property(own_options ${source} COMPILE_OPTIONS)
    if(own_options OR folder MATCHES "^${CMAKE_BINARY_DIR}/")
      continue()
    endif()
    # What begins with `#undef` reads the headers behind it in its own way.
    file(READ ${path} beginning LIMIT 400)
    if(beginning MATCHES "^(//[^\n]*\n|\n)*#undef ")
      continue()
    endif()
    if(of_FOLDERS)
      set(folder all)
    else()
      file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    endif()
    string(MAKE_C_IDENTIFIER "${folder}" id)
    list(LENGTH files_${id} before)
    list(APPEND files_${id} ${source})
    math(EXPR group "${before} / 12")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${id}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# ltr_unity_of_tests(TARGET): the same of tests, which are compiled far longer than they run. Most folders have one or two, so FOLDERS
# puts several together; not of tests that read headers in their own way, as those of the runtime's plans.
function(ltr_unity_of_tests target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  ltr_unity(${target} ${ARGN})
endfunction()
