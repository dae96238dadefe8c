# Makes the imported target ltr::arrow: Arrow and Parquet for C++, taken from the wheel of pyarrow (C++ part only). Debian has no
# package of them.
#
#   LTR_ARROW        build libltr_arrow, which reads Parquet and Arrow files (55 MB to download).
#   LTR_ARROW_DIR    a folder that holds pyarrow/ (a site-packages of a Python environment with pyarrow 26.0.1). Empty: that of
#                    LibTorch if it has one, else download with pip.
#
# Without them the runtime does without: a program that reads such a file says what is missing. So a download that fails is a
# warning.
include_guard(GLOBAL)
include(wheels)
option(LTR_ARROW "Build libltr_arrow, which programs load to read Parquet and Arrow files" ON)
set(LTR_ARROW_DIR "" CACHE PATH "Folder with pyarrow/; empty: download the wheel")
if(NOT LTR_ARROW)
  return()
endif()

# One version: its libraries have another soname in each release.
set(_ltr_arrow_wheel
  "pyarrow==26.0.1|39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c|pyarrow/include pyarrow/libarrow.so.2600 pyarrow/libparquet.so.2600")
set(_ltr_arrow_problem "")
if(LTR_ARROW_DIR)
  set(LTR_ARROW_ROOT "${LTR_ARROW_DIR}/pyarrow")
elseif(LTR_LIBTORCH_DIR AND EXISTS "${LTR_LIBTORCH_DIR}/pyarrow/libparquet.so.2600")
  set(LTR_ARROW_ROOT "${LTR_LIBTORCH_DIR}/pyarrow")
else()
  set(LTR_ARROW_ROOT "${CMAKE_BINARY_DIR}/libarrow/pyarrow")
  string(SHA256 _ltr_stamp "${_ltr_arrow_wheel}")
  if(NOT EXISTS "${CMAKE_BINARY_DIR}/libarrow/${_ltr_stamp}.stamp")
    file(REMOVE_RECURSE "${CMAKE_BINARY_DIR}/libarrow")
    ltr_unpack_wheel("${CMAKE_BINARY_DIR}/libarrow" "${_ltr_arrow_wheel}" _ltr_arrow_problem)
    if(NOT _ltr_arrow_problem)
      file(TOUCH "${CMAKE_BINARY_DIR}/libarrow/${_ltr_stamp}.stamp")
    endif()
  endif()
endif()
foreach(_ltr_file include/arrow/api.h include/parquet/arrow/reader.h libarrow.so.2600 libparquet.so.2600)
  if(NOT _ltr_arrow_problem AND NOT EXISTS "${LTR_ARROW_ROOT}/${_ltr_file}")
    set(_ltr_arrow_problem "${LTR_ARROW_ROOT}/${_ltr_file} is missing")
  endif()
endforeach()
if(_ltr_arrow_problem)
  message(WARNING "Arrow: ${_ltr_arrow_problem}\nParquet and Arrow files cannot be read by this build. LTR_ARROW_DIR names a folder that "
                  "holds pyarrow/, LTR_ARROW=OFF does without.")
  return()
endif()

add_library(ltr_libarrow SHARED IMPORTED GLOBAL)
set_target_properties(ltr_libarrow PROPERTIES IMPORTED_LOCATION "${LTR_ARROW_ROOT}/libarrow.so.2600")
add_library(ltr_libparquet SHARED IMPORTED GLOBAL)
set_target_properties(ltr_libparquet PROPERTIES IMPORTED_LOCATION "${LTR_ARROW_ROOT}/libparquet.so.2600")
add_library(ltr::arrow INTERFACE IMPORTED GLOBAL)
target_include_directories(ltr::arrow SYSTEM INTERFACE "${LTR_ARROW_ROOT}/include")
target_link_libraries(ltr::arrow INTERFACE ltr_libparquet ltr_libarrow)
