#pragma once

// Written by runtime/api/make_ops.py from stdlib/data/sources.ltr: what the sources deliver.

#include "ltr/api.h"

namespace ltr {

inline Schema mnist_record() {
  return {{"image", DType::U8, {28, 28}, ""}, {"label", DType::U8, {}, ""}};
}
inline Schema fashion_mnist_record() {
  return {{"image", DType::U8, {28, 28}, ""}, {"label", DType::U8, {}, ""}};
}
inline Schema cifar10_record() {
  return {{"image", DType::U8, {3, 32, 32}, ""}, {"label", DType::U8, {}, ""}};
}
inline Schema cifar100_record() {
  return {{"image", DType::U8, {3, 32, 32}, ""}, {"label", DType::U8, {}, ""}, {"coarse", DType::U8, {}, ""}};
}
inline Schema audio_record() {
  return {{"audio", DType::Float, {-1, -1}, ""}, {"rate", DType::I64, {}, "int"}, {"path", DType::U8, {}, "str"}};
}
inline Schema text_chars_record() {
  return {{"ids", DType::I64, {}, ""}};
}
inline Schema text_lines_record() {
  return {{"text", DType::U8, {}, "str"}};
}
inline Schema token_shards_record(int64_t window) {
  return {{"tokens", DType::I32, {window}, ""}};
}
inline Schema image_folder_record(int64_t channels) {
  return {{"image", DType::U8, {channels, -1, -1}, ""}, {"label", DType::I64, {}, ""}};
}
inline Schema files_record() {
  return {{"path", DType::U8, {}, "str"}, {"content", DType::U8, {-1}, ""}};
}
inline Schema range_record() {
  return {{"i", DType::I64, {}, "int"}};
}

}  // namespace ltr
