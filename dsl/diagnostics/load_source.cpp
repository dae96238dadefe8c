#include "dsl/diagnostics/load_source.h"

#include <utility>
#include <vector>

#include "dsl/diagnostics/suggest.h"

namespace ltr::diagnostics {

namespace {

/// A program in a folder: `main.ltr`, else the first.
std::string a_file_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".ltr") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const bool has_main = std::find(names.begin(), names.end(), "main.ltr") != names.end();
  return (folder / (names.empty() || has_main ? "main.ltr" : names.front())).string();
}

/// Names like the missing one in its folder.
std::optional<std::string> find_similar_file(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  const auto name = suggest(file.filename().string(), names);
  if (!name) return std::nullopt;
  return file.has_parent_path() ? (file.parent_path() / *name).string() : *name;
}

}  // namespace

std::optional<source::SourceId> load_source(const std::filesystem::path& file, source::SourceManager& sources,
                                            Sink& sink, Span cause, std::optional<std::string> shown) {
  const std::string path = shown ? *shown : file.string();
  const source::LoadResult result = sources.load(file, std::move(shown));
  switch (result.problem) {
    case source::LoadProblem::None: return result.source;
    case source::LoadProblem::NotFound: {
      Diagnostic diagnostic = diag::file_not_found(cause, path);
      if (const auto similar = find_similar_file(file)) diagnostic.help("did you mean {}?", *similar);
      sink.report(std::move(diagnostic));
      break;
    }
    case source::LoadProblem::NotReadable: sink.report(diag::file_not_readable(cause, path, result.reason)); break;
    case source::LoadProblem::Directory:
      sink.report(diag::file_is_directory(cause, path).help("name a file in it, such as {}", a_file_in(path)));
      break;
    case source::LoadProblem::TooLarge:
      sink.report(diag::file_too_large(cause, path, result.size_bytes)
                      .help("data belongs in files that a `data` declaration reads"));
      break;
    case source::LoadProblem::NotUtf8:
    case source::LoadProblem::Utf16: {
      const auto at = static_cast<uint32_t>(result.bad_byte);
      Diagnostic diagnostic = diag::not_utf8(Span{result.source, at, at + 1}, path, result.bad_byte);
      if (result.problem == source::LoadProblem::Utf16) {
        diagnostic.note("it is UTF-16").help("save the file as UTF-8 (`iconv -f UTF-16 -t UTF-8`)");
      } else {
        diagnostic.help("save the file as UTF-8 (`iconv -f LATIN1 -t UTF-8`)");
      }
      sink.report(std::move(diagnostic));
      break;
    }
    case source::LoadProblem::CarriageReturns:
      sink.report(diag::lines_end_with_cr(Span{result.source, 0, 1}, path)
                      .help("save it with LF at the ends of lines (`tr '\\r' '\\n'`)"));
      break;
  }
  return std::nullopt;
}

}  // namespace ltr::diagnostics
