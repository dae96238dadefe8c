#pragma once

// Readers that take a path: the input as a file, for as long as one run.

#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/fuzz/fuzz.h"

namespace ltr::fuzz {

/// A file that every run of this process writes anew.
inline std::string file_of(const uint8_t* data, size_t size, const std::string& ending) {
  static const std::string path = "/tmp/ltr-fuzz-" + std::to_string(getpid()) + ending;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text_of(data, size);
  return path;
}

/// Runs `body`; a refusal is an answer.
template <class Refusal, class Body>
void answer(Body&& body) {
  try {
    body();
  } catch (const Refusal&) {
  }
}

}  // namespace ltr::fuzz
