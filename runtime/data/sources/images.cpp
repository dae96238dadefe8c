// `image_folder`: one folder per class, decoded when read.

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "doors/image_file.h"
#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/records.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& path) {
  Str ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

/// Names that begin with a dot are those of other programs.
std::vector<fs::directory_entry> visible_entries(const Str& folder) {
  std::vector<fs::directory_entry> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with(".")) entries.push_back(entry);
  }
  return entries;
}

/// The images of one class, sorted. What would be passed over in silence is R3003: fewer images are another data set.
std::vector<Str> images_of(const Str& folder) {
  std::vector<Str> files;
  for (const fs::directory_entry& entry : visible_entries(folder)) {
    const Str path = entry.path().string();
    // A link to nothing cannot be read; what is no image can.
    if (!entry.exists()) throw error_here(err::file_missing, path);
    if (!entry.is_regular_file() || !is_image(entry.path())) {
      throw with_help(error_here(err::bad_record, path, "neither a .jpg nor a .png file"),
                      "convert it, or take it out of the folder of the class");
    }
    files.push_back(path);
  }
  if (files.empty()) {
    throw with_help(error_here(err::bad_record, folder, "the folder of a class, without an image"),
                    "remove it, or fill it: every folder is a class of its own");
  }
  std::sort(files.begin(), files.end());
  return files;
}

class ImageFolder : public Source {
 public:
  ImageFolder(const Str& root, int64_t channels) : Source(image_folder_record(channels)), channels_(channels) {
    std::vector<Str> classes;
    for (const fs::directory_entry& entry : visible_entries(root)) {
      if (entry.is_directory())
        classes.push_back(entry.path().string());
      else if (is_image(entry.path()))
        throw error_here(err::bad_record, entry.path().string(), "an image outside of the folders of classes");
    }
    std::sort(classes.begin(), classes.end());
    std::vector<int64_t> counts;
    for (size_t label = 0; label < classes.size(); ++label) {
      for (Str& file : images_of(classes[label])) files_.emplace_back(std::move(file), int64_t(label));
      counts.push_back(size() - std::accumulate(counts.begin(), counts.end(), int64_t(0)));
    }
    if (files_.empty()) {
      throw error_here(err::stream_too_short, fmt::format("no images in {}/CLASS/*.jpg or *.png", root));
    }
    note_opened(root);
    note_records(root, size());
    note_classes(root, counts);
  }

  int64_t size() const override { return int64_t(files_.size()); }
  Str name_of(const ReadAt& at) const override { return files_[size_t(at.index)].first; }

  bool read(const ReadAt& at, Record& out) const override {
    const auto& [path, label] = files_[size_t(at.index)];
    const doors::Image image = reading(path, [&] { return doors::read_image(path, channels_); });
    at::Tensor tensor = at::empty({image.height, image.width, channels_}, at::kByte);
    std::memcpy(tensor.data_ptr(), image.pixels.data(), image.pixels.size());
    out.resize(2);
    out[0].tensor = give(tensor.permute({2, 0, 1}).contiguous());
    out[1].tensor = give(at::scalar_tensor(label, at::TensorOptions().dtype(at::kLong)));
    return true;
  }

 private:
  int64_t channels_;
  std::vector<std::pair<Str, int64_t>> files_;
};

}  // namespace

Stream image_folder(const Str& root, int64_t channels) {
  if (channels != 1 && channels != 3) throw error_here(err::out_of_range, "image_folder: channels", channels, "1 or 3");
  return open_source(image_folder_record(channels), [&] {
    const Str folder = find_path(root);
    return reading(folder, [&] { return Stream(new ImageFolder(folder, channels)); });
  });
}

}  // namespace ltr
