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

}  // namespace

std::vector<LoggedImage> read_images(const std::string& path) {
  const std::string file = read_plain_file(path, limits::kFileBytes);
  std::vector<LoggedImage> images;
  // A torn last record is none: the file may still be written.
  for (TfRecords records(file, path); records.next() == TfRecords::Found::Whole;) take_event(records.payload(), images);
  return images;
}

}  // namespace ltr::doors
