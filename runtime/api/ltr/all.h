#pragma once

// All that generated code uses. It is compiled ahead (runtime/CMakeLists.txt), which only the first header of a file can be.

#include "ltr/build.h"
#include "ltr/load.h"
#include "ltr/ops.h"
#include "ltr/streams.h"
