# Parts of Python wheels that hold C++ libraries.
#
#   LTR_WHEEL_CACHE    where downloaded wheels are kept, shared between build trees.
include_guard(GLOBAL)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(_ltr_cache_home "$ENV{XDG_CACHE_HOME}")
if(NOT _ltr_cache_home)
  set(_ltr_cache_home "$ENV{HOME}/.cache")
endif()
set(LTR_WHEEL_CACHE "${_ltr_cache_home}/ltr/wheels" CACHE PATH "Where downloaded wheels are kept")

# Downloads the wheel of one row, `requirement|SHA-256 of the x86_64 wheel|paths to unpack`, into the cache (or finds it there by its
# hash) and unpacks its paths into `root`. `problem` becomes what went wrong, or empty.
function(ltr_unpack_wheel root row problem)
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 requirement)
  list(GET row 1 sha256)
  list(GET row 2 paths)
  file(MAKE_DIRECTORY "${LTR_WHEEL_CACHE}")
  string(REGEX REPLACE "==.*" "" name "${requirement}")
  string(REPLACE "-" "_" stem "${name}")
  foreach(attempt RANGE 1)
    file(GLOB candidates "${LTR_WHEEL_CACHE}/${stem}-*.whl")
    foreach(candidate IN LISTS candidates)
      file(SHA256 "${candidate}" actual)
      if(actual STREQUAL sha256)
        separate_arguments(patterns UNIX_COMMAND "${paths}")
        message(STATUS "Unpacking ${requirement}")
        file(ARCHIVE_EXTRACT INPUT "${candidate}" DESTINATION "${root}" PATTERNS ${patterns})
        set(${problem} "" PARENT_SCOPE)
        return()
      endif()
    endforeach()
    if(attempt EQUAL 0)
      # The platform and version flags make the choice independent of the Python that runs pip.
      message(STATUS "Downloading ${requirement}")
      execute_process(
        COMMAND "${Python3_EXECUTABLE}" -m pip download --quiet --no-deps --only-binary=:all:
                --implementation cp --python-version 3.11 --abi cp311 --abi none
                --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64
                --platform manylinux_2_18_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --dest "${LTR_WHEEL_CACHE}" "${requirement}"
        RESULT_VARIABLE status ERROR_VARIABLE errors)
      if(NOT status EQUAL 0)
        set(${problem} "Cannot download ${requirement}.\n${errors}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
  set(${problem} "No wheel of ${requirement} with SHA-256 ${sha256} in ${LTR_WHEEL_CACHE}" PARENT_SCOPE)
endfunction()
