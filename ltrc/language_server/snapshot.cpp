#include "ltrc/language_server/snapshot.h"

#include <algorithm>
#include <filesystem>

#include "dsl/parse/parse.h"
#include "ltrc/source_files.h"

namespace ltr::language_server {

namespace {

namespace fs = std::filesystem;

/// Writes the embedded library below the cache folder, once for each of its versions. The folder is
/// called `stdlib`, so that a file of it that is opened is known for what it is.
const fs::path& library_folder() {
  static const fs::path folder = [] {
    std::string all;
    for (const source::EmbeddedFile& file : resolve::library_texts)
      all += std::string(file.name) + '\n' + std::string(file.text) + '\0';
    fs::path place = toolchain::cache_folder() / "library" / toolchain::digest(all) / "stdlib";
    for (const source::EmbeddedFile& file : resolve::library_texts) {
      const fs::path path = place / file.name;
      std::error_code failed;
      if (fs::exists(path, failed)) continue;
      fs::create_directories(path.parent_path(), failed);
      // Where the cache cannot be written, the place is named all the same: the editor says so.
      if (driver::write_file(path.string(), std::string(file.text))) continue;
      fs::permissions(path, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read, failed);
    }
    return place;
  }();
  return folder;
}

}  // namespace

std::string openable(std::string_view path) {
  if (path.starts_with("std/")) return (library_folder() / path.substr(4)).string();
  std::error_code failed;
  const fs::path whole = fs::absolute(fs::path(path), failed).lexically_normal();
  return failed || path.find("://") != std::string_view::npos ? std::string(path) : whole.string();
}

Json Snapshot::location(Span span) const {
  if (!sources().contains(span.source)) return nullptr;
  const std::string place = span.source == kMain ? path : openable(sources().path(span.source));
  return {{"uri", uri_of(place)}, {"range", range(span)}};
}

void Snapshot::complete() {
  if (is_complete || !failure.empty()) return;
  is_complete = true;
  try {
    driver::check_whole(compilation);
  } catch (const std::exception& error) {
    failure = error.what();
  }
}

namespace {

/// An editor sends Unicode; only a file that was read from disk can hold anything else.
std::string as_unicode(std::string text) {
  if (!source::find_invalid_utf8(text)) return text;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return text;
}

bool stands_in_library(const std::string& path) {
  return std::ranges::any_of(resolve::library_texts, [&](const source::EmbeddedFile& file) {
    return path.ends_with("/stdlib/" + std::string(file.name));
  });
}

}  // namespace

std::unique_ptr<Snapshot> parse_snapshot(const std::string& path, std::string text) {
  auto snapshot = std::make_unique<Snapshot>();
  snapshot->path = path;
  driver::Compilation& compilation = snapshot->compilation;
  compilation.sink = std::make_unique<diagnostics::Sink>();
  const source::SourceId id = compilation.sources.add(path, as_unicode(std::move(text)));
  compilation.graph.emplace().modules.emplace_back().ast = parse::parse(id, compilation.sources, *compilation.sink);
  return snapshot;
}

std::unique_ptr<Snapshot> take_snapshot(const std::string& path, std::string text) {
  auto snapshot = std::make_unique<Snapshot>();
  snapshot->path = path;
  try {
    snapshot->compilation.reach = stands_in_library(path) ? Reach::Whole : Reach::Mentioned;
    driver::check_text(path, as_unicode(std::move(text)), snapshot->compilation);
  } catch (const std::exception& error) {
    snapshot->failure = error.what();
  }
  snapshot->index = std::make_unique<Index>(snapshot->compilation);
  return snapshot;
}

const Snapshot& whole_library() {
  static const std::unique_ptr<Snapshot> library = [] {
    auto snapshot = parse_snapshot("", "ltr 1\n");
    driver::Compilation& compilation = snapshot->compilation;
    compilation.reach = Reach::Whole;
    ast::Module nothing = std::move(compilation.graph->modules[0].ast);
    compilation.graph = resolve::resolve(std::move(nothing), compilation.sources, *compilation.sink, Reach::Whole);
    snapshot->index = std::make_unique<Index>(compilation);
    return snapshot;
  }();
  return *library;
}

}  // namespace ltr::language_server
