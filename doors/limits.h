#pragma once

// The bounds of everything that is read from outside, each written once. A reader refuses what lies beyond them before
// it takes memory for it. docs/runtime/limits.md says them to people; a test holds the two together.

#include <cstddef>
#include <cstdint>

namespace ltr::doors::limits {

/// JSON from outside: config files, rows, flags, manifests. Deeper text would be walked by recursion.
inline constexpr size_t kJsonBytes = size_t(256) << 20;
inline constexpr size_t kJsonDepth = 64;

/// A file that is held in memory whole: csv, text, idx, npy, cifar.
inline constexpr uint64_t kFileBytes = uint64_t(16) << 30;
/// gzip may grow to this, or to `kInflateRatio` times its packed size where that is more.
inline constexpr uint64_t kInflateBytes = uint64_t(64) << 20;
inline constexpr uint64_t kInflateRatio = 100;

/// Rows that a Parquet or Arrow file holds together (a row group, a record batch), and what those columns of them that are read may take.
inline constexpr int64_t kBlockRows = int64_t(1) << 31;
inline constexpr int64_t kBlockBytes = int64_t(4) << 30;
/// Rows of such a file.
inline constexpr int64_t kColumnRows = int64_t(1) << 40;

/// A sound file: its samples take up to four times as much.
inline constexpr uint64_t kSoundBytes = uint64_t(1) << 30;

/// Pixels of one image: 8 bits and three channels make 384 MiB of them.
inline constexpr int64_t kImagePixels = int64_t(1) << 27;
/// Bytes of one image file.
inline constexpr uint64_t kImageBytes = uint64_t(256) << 20;
/// What libjpeg may take to work in, which holds all coefficients of a progressive image.
inline constexpr long kJpegMemory = long(512) << 20;
/// Scans of one progressive JPEG: each walks over all pixels again.
inline constexpr int kJpegScans = 200;

/// The header of a safetensors file.
inline constexpr uint64_t kSafetensorsHeader = 100'000'000;
/// Dims of a stored tensor; LibTorch walks no more.
inline constexpr size_t kTensorDims = 64;

/// `data.pkl` of a PyTorch file, and what is built of it.
inline constexpr size_t kPickleBytes = size_t(64) << 20;
inline constexpr uint64_t kPickleOpcodes = 10'000'000;
inline constexpr uint64_t kPickleMemory = uint64_t(1) << 30;
/// Nested dicts of it, and the bytes of all names that they make: a dict may hold another twice.
inline constexpr int kPickleDepth = 256;
inline constexpr uint64_t kPickleNames = uint64_t(64) << 20;

/// First line and headers of a request.
inline constexpr size_t kHttpHeader = size_t(16) << 10;
/// Body of a request to a program that serves.
inline constexpr size_t kHttpBody = size_t(64) << 20;

}  // namespace ltr::doors::limits
