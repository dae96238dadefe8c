#include "ltrc/starter_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "doors/file.h"
#include "doors/file_kind.h"
#include "doors/utf8.h"

namespace ltr::driver {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPath = ": path = \"";

/// Entries but those of other programs, whose names begin with a dot, in their order.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with(".")) entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool is_picture(const fs::path& file) {
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return fs::is_regular_file(file) && (ending == ".jpg" || ending == ".jpeg" || ending == ".png");
}

std::string fit_pictures(std::string& text, const std::string& data) {
  const std::string wanted = "a folder is wanted that has a folder of .jpg or .png files for each class";
  if (!fs::is_directory(data)) throw Unfit{data + " is no folder", wanted};
  std::map<std::string, size_t> classes;
  size_t pictures = 0;
  for (const fs::path& entry : entries_of(data)) {
    if (is_picture(entry)) throw Unfit{entry.string() + ": a picture outside of the folders of classes", wanted};
    if (!fs::is_directory(entry)) continue;
    size_t count = 0;
    for (const fs::path& file : entries_of(entry)) {
      if (!is_picture(file))
        throw Unfit{file.string() + " is neither a .jpg nor a .png file",
                    "convert it, or take it out of the folder of its class"};
      ++count;
    }
    if (count == 0)
      throw Unfit{entry.string() + ": the folder of a class, without a picture",
                  "remove it, or fill it: every folder is a class of its own"};
    classes.emplace(entry.filename().string(), count);
    pictures += count;
  }
  if (classes.empty()) throw Unfit{data + " holds no folder of pictures", wanted};
  if (classes.size() == 1)
    throw Unfit{fmt::format("{} has one class, `{}`; two at least are wanted", data, classes.begin()->first), wanted};
  const std::string_view setting = "hparam classes: int = ";
  const size_t begin = text.find(setting) + setting.size();
  text.replace(begin, text.find(' ', begin) - begin, std::to_string(classes.size()));
  constexpr size_t kShown = 8;
  std::string list;
  size_t shown = 0;
  for (const auto& [name, count] : classes) {
    if (shown++ < kShown) list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, count);
  }
  return fmt::format("{} pictures of {} classes: {}{}", pictures, classes.size(), list,
                     classes.size() > kShown ? ", …" : "");
}

std::string fit_letters(std::string&, const std::string& data) {
  // The last tenth is measured in batches of 16 windows, which are 65 letters long and begin 64 apart.
  constexpr int64_t kFewest = 10 * (16 * 64 + 1);
  if (fs::is_directory(data)) throw Unfit{data + " is a folder, and this task reads a text"};
  const std::string letters = doors::read_file(data);
  if (const auto kind = doors::kind_of(letters))
    throw Unfit{fmt::format("{} is {}", data, kind->what), "a text is wanted"};
  if (const auto bad = doors::line_not_utf8(letters))
    throw Unfit{fmt::format("{}:{}: {}", data, bad->line, bad->fault), "a text in UTF-8 is wanted"};
  const auto count =
      std::count_if(letters.begin(), letters.end(), [](char c) { return (uint8_t(c) & 0xC0U) != 0x80U; });
  if (count < kFewest)
    throw Unfit{fmt::format("{}: {} letters, and {} at least are wanted", data, count, kFewest),
                "the last tenth of them is measured by windows of 65, of which a batch has 16"};
  return fmt::format("a text of {} letters", count);
}

std::string fit_digits(std::string&, const std::string& data) {
  const std::string wanted =
      "the task draws the classes of points from handwritten digits: the four IDX files of MNIST are wanted";
  if (!fs::is_directory(data)) throw Unfit{data + " is no folder", wanted};
  for (const char* name :
       {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    const fs::path file = fs::path(data) / name;
    if (!fs::exists(file) && !fs::exists(file.string() + ".gz"))
      throw Unfit{fmt::format("there is no {}, packed or not", file.string()), wanted};
  }
  return "handwritten digits";
}

struct Rule {
  std::string_view task;
  std::string (*fit)(std::string& text, const std::string& data);
};
constexpr Rule kRules[] = {{"image_classifier", fit_pictures},
                           {"tabular_classifier", fit_classifier},
                           {"tabular_regressor", fit_regressor},
                           {"text_classifier", fit_texts},
                           {"forecaster", fit_series},
                           {"language_model", fit_letters},
                           {"segmenter", fit_digits}};

}  // namespace

std::string quoted_text(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == '"' || c == '\\' || c == '{') text += '\\';
    if (c == '\n')
      text += "\\n";
    else if (c == '\t')
      text += "\\t";
    else
      text += c;
  }
  return text;
}

StarterFit fit_to_data(std::string text, const std::string& task, const std::string& data, const std::string& path) {
  StarterFit fit;
  const auto* rule =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& one) { return one.task == task; });
  try {
    // The path may hold what the rules look for, so it is put in last.
    if (rule != std::end(kRules)) fit.found = rule->fit(text, data);
    const size_t start = text.find(kPath) + kPath.size();
    text.replace(start, text.find('"', start) - start, quoted_text(path));
    fit.text = std::move(text);
  } catch (const Unfit& unfit) {
    fit.error = unfit.error;
    fit.help = unfit.help;
  } catch (const fs::filesystem_error& error) {
    fit.error = fmt::format("cannot read {}: {}", error.path1().string(), error.code().message());
  } catch (const doors::FormatError& error) {
    fit.error = fmt::format("{}: at byte {}: {}", data, error.offset, error.reason);
  } catch (const std::system_error& error) {
    fit.error = fmt::format("cannot read {}: {}", data, error.code().message());
  }
  return fit;
}

}  // namespace ltr::driver
