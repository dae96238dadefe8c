#pragma once

// IDX files, the format of MNIST: big-endian header (00 00 type ndim, sizes), then the data.

#include <cstdint>
#include <string>
#include <vector>

namespace ltr::doors {

/// `dtype` as in safetensors: U8 I8 I16 I32 F32 F64. `data` is in the byte order of this machine.
struct IdxFile {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string data;
};

/// Reads `path`, gzip or not. FormatError if the header lies or the file is too short or too long.
IdxFile read_idx(const std::string& path);

}  // namespace ltr::doors
