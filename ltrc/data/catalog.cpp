#include "ltrc/data/catalog.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>

#include "doors/json.h"
#include "dsl/source/embedded.h"

namespace ltr::driver {

extern const std::span<const source::EmbeddedFile> catalog_files;

namespace {

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name[0] != '.' && name.find('\0') == std::string::npos;
}

PublishedFile file_of(const nlohmann::json& json) {
  PublishedFile file{json.at("name"), json.at("bytes"), json.at("sha256"), json.at("urls"), json.value("unpack", "")};
  const bool is_hex =
      file.sha256.size() == 64 && file.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_plain_name(file.name)) throw std::runtime_error(fmt::format("`{}` is no name of a file", file.name));
  if (!is_hex) throw std::runtime_error(fmt::format("{} has no SHA-256 of 64 hex digits", file.name));
  if (file.urls.empty()) throw std::runtime_error(fmt::format("{} has no address", file.name));
  if (!file.unpack.empty() && file.unpack != "tar")
    throw std::runtime_error(fmt::format("{}: `unpack` is \"tar\", or absent", file.name));
  return file;
}

void add_entries(const nlohmann::json& json, std::vector<CatalogEntry>& entries) {
  for (const nlohmann::json& one : json.at("entries")) {
    CatalogEntry entry{one.at("name"),        one.value("kind", "data"), one.value("licence", "not stated"),
                       one.value("home", ""), one.value("what", ""),     {}};
    if (!is_plain_name(entry.name)) throw std::runtime_error(fmt::format("`{}` is no name of an entry", entry.name));
    std::set<std::string> names;
    for (const nlohmann::json& file : one.at("files")) {
      entry.files.push_back(file_of(file));
      if (!names.insert(entry.files.back().name).second)
        throw std::runtime_error(fmt::format("{} has two files {}", entry.name, entry.files.back().name));
    }
    // An entry of one's own stands for one of the same name.
    std::erase_if(entries, [&](const CatalogEntry& other) { return other.name == entry.name; });
    entries.push_back(std::move(entry));
  }
}

}  // namespace

uint64_t CatalogEntry::bytes() const {
  uint64_t sum = 0;
  for (const PublishedFile& file : files) sum += file.bytes;
  return sum;
}

std::vector<CatalogEntry> read_catalog(const std::vector<std::string>& own) {
  std::vector<CatalogEntry> entries;
  add_entries(nlohmann::json::parse(catalog_files[0].text), entries);
  for (const std::string& file : own) {
    try {
      add_entries(doors::read_json(file), entries);
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}: {}", file, error.what()));
    }
  }
  return entries;
}

}  // namespace ltr::driver
