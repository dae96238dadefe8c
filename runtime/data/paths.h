#pragma once

// Where data files are looked for (runtime.md 7.8).

#include <vector>

#include "ltr/api.h"

namespace ltr {

/// The folders of the program's `.ltr` files, which relative paths also mean. Set once, by `ltr::main`.
void set_program_folders(std::vector<Str> folders);

/// The first place of `path` that exists: as given, from the folders of the program, then, for the named data
/// `name`, in `$LTR_DATA_DIR` and `data`. R3001 lists all places; `name` adds the `ltrc data get` line.
Str find_path(const Str& path, const char* name = "");
/// The same for the first of `alternatives` inside the folder `root`: `train-images…`, `train-images….gz`.
Str find_in_root(const Str& root, const std::vector<Str>& alternatives, const char* name);

/// The places of a file that stands beside the program's sources: their folders first, then as given.
std::vector<Str> places_beside(const Str& path);

/// Files that a pattern with `*`, `?`, `[…]` names, sorted; R3001 if there are none.
std::vector<Str> find_files(const Str& pattern);

/// Facts of the files that sources have opened, for `run.json`: path, bytes, SHA-256 of size and samples.
struct OpenedFile {
  Str path;
  int64_t bytes = 0;
  Str fingerprint;
};
void note_opened(const Str& path);
std::vector<OpenedFile> opened_files();

}  // namespace ltr
