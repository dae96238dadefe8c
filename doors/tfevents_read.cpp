#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "doors/file.h"
#include "doors/limits.h"
#include "doors/protobuf.h"
#include "doors/tfevents.h"
#include "doors/tfrecord.h"

namespace ltr::doors {

namespace {

/// `SummaryMetadata.plugin_data.plugin_name`
std::string_view plugin_of(std::string_view metadata) {
  for (Fields fields(metadata); fields.next();) {
    for (Fields parts(fields.text); fields.number == 1 && parts.next();) {
      if (parts.number == 1) return parts.text;
    }
  }
  return {};
}

/// `Summary.Value` of the plugin for images: a tensor of width, height and files.
std::optional<LoggedImage> image_of(std::string_view value) {
  LoggedImage image;
  std::vector<std::string_view> strings;
  bool is_image = false;
  for (Fields fields(value); fields.next();) {
    if (fields.number == 1) image.tag = fields.text;
    if (fields.number == 9) is_image = plugin_of(fields.text) == "images";
    for (Fields parts(fields.text); fields.number == 8 && parts.next();) {
      if (parts.number == 8) strings.push_back(parts.text);
    }
  }
  if (!is_image || strings.size() < 3) return std::nullopt;
  image.png = strings[2];
  return image;
}

void take_event(std::string_view event, std::vector<LoggedImage>& into) {
  int64_t step = 0;
  const size_t first = into.size();
  for (Fields fields(event); fields.next();) {
    if (fields.number == 2) step = int64_t(fields.whole);
    if (fields.number != 5) continue;
    for (Fields values(fields.text); values.next();) {
      if (auto image = values.number == 1 ? image_of(values.text) : std::nullopt) into.push_back(std::move(*image));
    }
  }
  for (size_t i = first; i < into.size(); ++i) into[i].step = step;
}

/// `SessionLog` with the status START
bool is_start(std::string_view session) {
  for (Fields fields(session); fields.next();) {
    if (fields.number == 1) return fields.whole == 1;
  }
  return false;
}

void take_event(std::string_view event, int64_t wanted, std::set<std::string>& tags) {
  int64_t step = 0;
  std::set<std::string> own;
  bool begins = false;
  for (Fields fields(event); fields.next();) {
    if (fields.number == 2) step = int64_t(fields.whole);
    if (fields.number == 7) begins = is_start(fields.text);
    for (Fields values(fields.text); fields.number == 5 && values.next();) {
      std::string tag;
      bool is_scalar = false;
      for (Fields parts(values.text); parts.next();) {
        if (parts.number == 1) tag = parts.text;
        if (parts.number == 2) is_scalar = true;
      }
      if (is_scalar) own.insert(tag);
    }
  }
  // Readers drop what a later session overtakes.
  if (begins && step <= wanted) tags.clear();
  if (step == wanted) tags.merge(own);
}

}  // namespace

std::vector<LoggedImage> read_images(const std::string& path) {
  const std::string file = read_plain_file(path, limits::kFileBytes);
  std::vector<LoggedImage> images;
  // A torn last record is none: the file may still be written.
  for (TfRecords records(file, path); records.next() == TfRecords::Found::Whole;) take_event(records.payload(), images);
  return images;
}

std::set<std::string> scalar_tags(const std::vector<std::string>& paths, int64_t step) {
  std::set<std::string> tags;
  for (const std::string& path : paths) {
    const std::string file = read_plain_file(path, limits::kFileBytes);
    for (TfRecords records(file, path); records.next() == TfRecords::Found::Whole;)
      take_event(records.payload(), step, tags);
  }
  return tags;
}

std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> files;  // Their names begin with the time of their start.
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace ltr::doors
