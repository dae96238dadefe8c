#pragma once

#include <functional>

#include "ltr/streams.h"
#include "runtime/api/error.h"

/// What tests of data share.
namespace ltr::testing {

/// The data of a program that has none of its own.
class NoData : public Data {};
inline const NoData kData;

/// The error that `body` throws; one without a code where it throws none.
inline Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error("", "");
}

}  // namespace ltr::testing
