#include "doors/column_file.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "doors/file.h"

namespace ltr::doors {

namespace {

using Open = std::unique_ptr<ColumnFile> (*)(const std::string& path, ColumnFormat format);
using Names = char* (*)(const char* path, int format);

/// Its function of this name and type.
template <typename Function>
Function load(const std::string& library, const char* name) {
  if (::access(library.c_str(), F_OK) != 0)
    throw NoColumnLibrary(library +
                          " is missing: Ltr was built without Arrow. Configure it with -DLTR_ARROW=ON and build again");
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) throw NoColumnLibrary(::dlerror());
  const auto function = reinterpret_cast<Function>(::dlsym(loaded, name));
  if (function == nullptr) throw NoColumnLibrary(library + " is no library of this version");
  return function;
}

/// What a file of the other format, or none, begins with is said in words: the library knows only that it is not its own.
void check_begin(const std::string& path, ColumnFormat format) {
  constexpr uint64_t kMagic = 8;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::system_error(errno, std::generic_category(), path);
  char read[kMagic] = {};
  file.read(read, sizeof read);
  const std::string_view begin(read, size_t(file.gcount()));
  std::error_code failed;
  if (begin.empty() && std::filesystem::is_directory(path, failed))
    throw std::system_error(EISDIR, std::generic_category(), path);
  if (begin.empty()) throw ColumnFileError("an empty file");
  const bool is_parquet = begin.starts_with("PAR1") || begin.starts_with("PARE");
  const bool is_arrow = begin.starts_with("ARROW1") || begin.starts_with("\xFF\xFF\xFF\xFF");
  if (format == ColumnFormat::Parquet && is_arrow) throw ColumnFileError("an Arrow file, which `arrow(\"…\")` reads");
  if (format == ColumnFormat::Parquet && !is_parquet) throw ColumnFileError("no Parquet file");
  if (format == ColumnFormat::Arrow && is_parquet)
    throw ColumnFileError("a Parquet file, which `parquet(\"…\")` reads");
  if (format == ColumnFormat::Arrow && begin.starts_with("FEA1"))
    throw ColumnFileError("a Feather file of version 1; version 2 is Arrow's own format");
  if (format == ColumnFormat::Arrow && !is_arrow) throw ColumnFileError("neither a file nor a stream of Arrow");
}

}  // namespace

std::unique_ptr<ColumnFile> open_column_file(const std::string& library, const std::string& path, ColumnFormat format) {
  check_begin(path, format);
  return load<Open>(library, "ltr_open_column_file")(path, format);
}

std::optional<std::vector<std::string>> column_names(const std::string& library, const std::string& path,
                                                     ColumnFormat format) {
  try {
    check_begin(path, format);
    const std::unique_ptr<char, decltype(&std::free)> names(
        load<Names>(library, "ltr_column_names")(path.c_str(), int(format)), &std::free);
    if (names == nullptr) return std::nullopt;
    return nlohmann::json::parse(names.get());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace ltr::doors
