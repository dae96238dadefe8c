#pragma once

// Where data files are looked for (runtime.md 7.8).

#include <vector>

#include "ltr/api.h"

namespace ltr {

/// The folders of the program's `.ltr` files, which relative paths also mean. Set once, by `ltr::main`.
void set_program_folders(std::vector<Str> folders);

/// The first place of `path` that exists: as given, from the folder of the file that is at work (`at`), from those of the program, then, for the named data
/// `name`, in `$LTR_DATA_DIR` and `data`. R3001 lists all places; `name` adds what belongs there.
Str find_path(const Str& path, const char* name = "");
/// The same for the first of `alternatives` inside the folder `root`: `train-images…`, `train-images….gz`.
Str find_in_root(const Str& root, const std::vector<Str>& alternatives, const char* name);

/// The places of a file that stands beside the program's sources: their folders first, then as given.
std::vector<Str> places_beside(const Str& path);

/// Files that a pattern with `*`, `?`, `[…]` names, sorted; R3001 if there are none. `found_as` becomes the pattern at the place
/// where they are.
std::vector<Str> find_files(const Str& pattern, Str* found_as = nullptr);

/// What is known of a file that was opened: of data for `run.json` and checkpoints, whose resume compares (R3006).
struct OpenedFile {
  Str path;
  int64_t bytes = 0;
  /// SHA-256 of the size and of the bytes: all of them up to kWholeBytes, else three samples of 1 MiB (start, middle,
  /// end). Of a folder or pattern: of the names and sizes of its files. It hangs on neither path nor time.
  Str fingerprint;
  Str doubt;                          ///< what people are told of it, once; "" if nothing
  int64_t records = -1;               ///< of the data in it; -1 for what is no data, such as weights
  std::vector<Str> files = {};        ///< those of a pattern
  std::vector<int64_t> classes = {};  ///< how many records have label 0, 1, …; empty where only reading all would tell
};
inline constexpr int64_t kWholeBytes = int64_t(64) << 20;

/// A file, or a folder that is read as a whole.
void note_opened(const Str& path);
/// The sorted files of a pattern, which are read as a whole.
void note_opened(const Str& pattern, const std::vector<Str>& files);
/// How many records `path` gave, which was opened; those of several streams over one file are the same.
void note_records(const Str& path, int64_t records);
/// How many of its records have each label; of a file with several labels the first that are noted count.
void note_classes(const Str& path, const std::vector<int64_t>& classes);
/// What looks wrong in `path`, which was opened.
void note_doubt(const Str& path, const Str& doubt);
/// When what `file` stands for was written, each of its files, as text. With the fingerprint it tells a file that was written anew even
/// where its size and samples are as they were.
Str times_of(const OpenedFile& file);
/// In the order of their opening. Each is read for its fingerprint once, by the first call.
std::vector<OpenedFile> opened_files();

}  // namespace ltr
