#include "dsl/source/source_manager.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace ltr::source {

namespace {

/// The first byte that UTF-8 would not have, in what is UTF-16 by its mark or because every other byte of it is 0.
std::optional<size_t> find_utf16(std::string_view text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return 0;
  const std::string_view begin = text.substr(0, 64);
  for (const size_t first : {size_t(0), size_t(1)}) {
    bool is_wide = begin.size() > 3;
    for (size_t i = 0; is_wide && i < begin.size(); ++i) is_wide = (begin[i] == '\0') == (i % 2 == first);
    if (is_wide) return first;
  }
  return std::nullopt;
}

}  // namespace

SourceId SourceManager::add(std::string path, std::string text) {
  files_.push_back({std::move(path), std::move(text), std::nullopt});
  return {static_cast<uint32_t>(files_.size())};
}

LoadResult SourceManager::load(const std::filesystem::path& file, std::optional<std::string> shown) {
  LoadResult result;
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    const bool absent = status.type() == std::filesystem::file_type::not_found;
    result.problem = absent ? LoadProblem::NotFound : LoadProblem::NotReadable;
    result.reason = error.message();
    return result;
  }
  if (std::filesystem::is_directory(status)) {
    result.problem = LoadProblem::Directory;
    return result;
  }

  const auto close = [](std::FILE* stream) { std::fclose(stream); };
  const std::unique_ptr<std::FILE, decltype(close)> stream(std::fopen(file.c_str(), "rb"), close);
  if (!stream) {
    result.problem = LoadProblem::NotReadable;
    result.reason = std::strerror(errno);
    return result;
  }
  // Read in pieces and not by the size of the file: pipes and /proc have none.
  std::string text;
  constexpr size_t kPiece = size_t{64} << 10U;
  while (text.size() <= kMaxSourceBytes) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    const size_t got = std::fread(text.data() + before, 1, kPiece, stream.get());
    text.resize(before + got);
    if (got < kPiece) break;
  }
  if (std::ferror(stream.get()) != 0) {
    result.problem = LoadProblem::NotReadable;
    result.reason = std::strerror(errno);
    return result;
  }
  if (text.size() > kMaxSourceBytes) {
    result.problem = LoadProblem::TooLarge;
    const auto size = std::filesystem::file_size(file, error);
    result.size_bytes = error ? text.size() : static_cast<size_t>(size);
    return result;
  }
  const auto wide = find_utf16(text);
  if (const auto bad = wide ? wide : find_invalid_utf8(text)) {
    result.problem = wide ? LoadProblem::Utf16 : LoadProblem::NotUtf8;
    result.bad_byte = *bad;
    // Its lines can be shown all the same.
    for (char& c : text) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    }
    result.source = add(shown ? std::move(*shown) : file.string(), std::move(text));
    return result;
  }
  // Ends of line of old systems: all of it would be read as one line, most of it as a comment.
  const size_t end = text.find_first_of("\r\n");
  if (end != std::string::npos && text[end] == '\r' && text.find('\n') == std::string::npos && end + 1 < text.size())
    result.problem = LoadProblem::CarriageReturns;
  result.source = add(shown ? std::move(*shown) : file.string(), std::move(text));
  return result;
}

const SourceManager::File* SourceManager::find(SourceId source) const {
  return contains(source) ? &files_[source.index - 1] : nullptr;
}

std::string_view SourceManager::text(SourceId source) const {
  const File* file = find(source);
  return file != nullptr ? std::string_view(file->text) : std::string_view();
}

std::string_view SourceManager::path(SourceId source) const {
  const File* file = find(source);
  return file != nullptr ? std::string_view(file->path) : std::string_view();
}

std::string_view SourceManager::text(Span span) const {
  const std::string_view all = text(span.source);
  const size_t begin = std::min<size_t>(span.begin, all.size());
  return all.substr(begin, span.end > span.begin ? span.end - span.begin : 0);
}

Range SourceManager::position(Span span) const {
  const File* file = find(span.source);
  if (file == nullptr) return {};
  return {file->lines().position(file->text, span.begin), file->lines().position(file->text, span.end)};
}

std::string_view SourceManager::line_text(SourceId source, uint32_t line) const {
  const File* file = find(source);
  return file != nullptr ? file->lines().line_text(file->text, line) : std::string_view();
}

const LineIndex& SourceManager::lines(SourceId source) const {
  static const LineIndex kNone{std::string_view()};
  const File* file = find(source);
  return file != nullptr ? file->lines() : kNone;
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  for (size_t i = 0; i < text.size();) {
    const unsigned lead = byte(i);
    const size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return i;
    for (size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0U) != 0x80U) return i;
    }
    // The second byte rules out overlong forms, surrogates and what lies beyond U+10FFFF.
    if (length > 2) {
      const unsigned second = byte(i + 1);
      if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
          (lead == 0xf4 && second > 0x8f)) {
        return i;
      }
    }
    i += length;
  }
  return std::nullopt;
}

}  // namespace ltr::source
