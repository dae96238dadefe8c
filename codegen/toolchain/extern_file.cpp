#include "codegen/toolchain/extern_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codegen/toolchain/process.h"

namespace ltr::toolchain {

namespace {

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Another build may read the file at any time, so it appears whole.
bool write_text(const fs::path& file, const std::string& text) {
  const fs::path temporary = file.string() + "." + std::to_string(getpid());
  {
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    if (!out.flush()) return false;
  }
  std::error_code error;
  fs::rename(temporary, file, error);
  return !error;
}

std::string identity(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  const auto time = fs::last_write_time(file, error).time_since_epoch().count();
  return file.string() + ":" + std::to_string(size) + ":" + std::to_string(time);
}

/// The folder with the generated header, which stands on the include path.
fs::path header_folder(const ExternSource& source) {
  const fs::path folder = cache_folder() / "headers" / digest(source.header_name() + source.header).substr(0, 24);
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path header = folder / source.header_name();
  if (!fs::exists(header, error)) write_text(header, source.header);
  // Clang's CUDA support includes this header of old toolkits.
  if (source.is_cuda()) write_text(folder / "texture_fetch_functions.h", "");
  return folder;
}

/// A cached result `KEY.EXTENSION` holds while every file that it was made from has the content
/// that `KEY.inputs` notes.
struct Entry {
  fs::path base;

  explicit Entry(const char* kind, const std::string& key) {
    const fs::path folder = cache_folder() / kind;
    std::error_code error;
    fs::create_directories(folder, error);
    base = folder / digest(key).substr(0, 24);
  }

  fs::path file(const char* extension) const { return base.string() + extension; }

  bool is_fresh(const char* extension) const {
    std::error_code error;
    if (!fs::exists(file(extension), error)) return false;
    std::istringstream lines(read_text(file(".inputs")));
    bool any = false;
    for (std::string line; std::getline(lines, line); any = true) {
      const size_t space = line.find(' ');
      if (space == std::string::npos || digest(read_text(line.substr(space + 1))) != line.substr(0, space))
        return false;
    }
    return any;
  }

  bool keep_inputs(const std::vector<std::string>& files) const {
    std::string text;
    for (const std::string& one : files) text += digest(read_text(one)) + " " + one + "\n";
    return write_text(file(".inputs"), text);
  }
};

/// The files that a rule of make names behind its colon.
std::vector<std::string> dependencies(const fs::path& rule) {
  std::vector<std::string> files;
  std::string word, text = read_text(rule);
  const size_t colon = text.find(": ");
  for (size_t i = colon == std::string::npos ? text.size() : colon + 2; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : '\n';
    if (c == '\\' && i + 1 < text.size() && text[i + 1] != '\n') {
      word += text[++i];
    } else if (c == ' ' || c == '\n' || c == '\\') {
      if (!word.empty()) files.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  return files;
}

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; std::getline(in, word, separator);) words.push_back(word);
  return words;
}

/// Reads `FILE:LINE:COLUMN: error: TEXT`, as GCC, Clang and nvcc's host compiler write it.
std::vector<CompilerMessage> errors_in(const std::string& output) {
  std::vector<CompilerMessage> messages;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::string mark = line.find(": fatal error: ") != std::string::npos ? ": fatal error: " : ": error: ";
    const size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    CompilerMessage message;
    message.text = line.substr(at + mark.size());
    // nvcc writes `FILE(LINE): error: TEXT`.
    if (const size_t open = line.rfind('(', at); open != std::string::npos && line[at - 1] == ')') {
      message.file = line.substr(0, open);
      message.line = uint32_t(std::strtoul(line.c_str() + open + 1, nullptr, 10));
      message.column = 1;
      messages.push_back(std::move(message));
      continue;
    }
    const std::vector<std::string> words = split(line.substr(0, at), ':');
    const auto is_number = [](const std::string& word) {
      return !word.empty() && word.size() < 9 &&
             std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    size_t numbers = 0;
    while (numbers < 2 && numbers < words.size() && is_number(words[words.size() - 1 - numbers])) ++numbers;
    if (numbers > 0 && words.size() > numbers) {
      message.line = uint32_t(std::stoul(words[words.size() - numbers]));
      message.column = numbers == 2 ? uint32_t(std::stoul(words.back())) : 1;
      for (size_t i = 0; i + numbers < words.size(); ++i) message.file += (i == 0 ? "" : ":") + words[i];
    }
    messages.push_back(std::move(message));
  }
  if (messages.empty()) messages.push_back({"", 0, 0, output.empty() ? "the compiler gave no reason" : output});
  return messages;
}

fs::path cuda_folder(const fs::path& nvcc) {
  std::error_code error;
  const fs::path real = fs::canonical(nvcc, error);
  return (error ? nvcc : real).parent_path().parent_path();
}

fs::path cuda_libraries(const fs::path& nvcc) { return cuda_folder(nvcc) / "lib64"; }

}  // namespace

std::optional<fs::path> find_nvcc() {
  std::error_code error;
  if (const char* given = std::getenv("CUDACXX"); given != nullptr && *given != '\0') {
    return fs::exists(given, error) ? std::optional<fs::path>(given) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::vector<std::string> folders = split(path != nullptr ? path : "", ':');
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders) {
    if (fs::exists(fs::path(folder) / "nvcc", error)) return fs::path(folder) / "nvcc";
  }
  return std::nullopt;
}

std::optional<std::string> broken_toolkit(const fs::path& nvcc) {
  // LibTorch's own: a program with two CUDA runtimes would have streams of both.
  static constexpr const char* kRuntime = "libcudart.so.13";
  std::error_code error;
  if (fs::exists(cuda_libraries(nvcc) / kRuntime, error)) return std::nullopt;
  return "the toolkit of " + nvcc.string() + " is not CUDA 13: it has no lib64/" + kRuntime;
}

std::optional<std::vector<Finding>> check_extern(const ExternSource& source, const Installation& installation) {
  const fs::path tool = installation.ltrc.parent_path() / "ltr_extern_check";
  std::error_code error;
  if (!fs::exists(tool, error)) return std::nullopt;
  const fs::path headers = header_folder(source);
  std::vector<std::string> words = {tool.string(),
                                    source.file.string(),
                                    "-std=c++20",
                                    "-DLTR_EXTERN_CHECK",
                                    "-isystem" + installation.include.string(),
                                    "-I" + headers.string()};
  if (source.is_cuda()) {
    const auto nvcc = find_nvcc();
    words.insert(words.end(), {"-xcuda", "--cuda-host-only", "-Wno-unknown-cuda-version"});
    if (nvcc) words.push_back("--cuda-path=" + cuda_folder(*nvcc).string());
  }
  std::string key = identity(tool) + identity(installation.include / "ltr" / "extern.h");
  for (const std::string& word : words) key += "|" + word;
  const Entry entry("extern_checks", key);
  std::string output;
  if (entry.is_fresh(".findings")) {
    output = read_text(entry.file(".findings"));
  } else {
    const fs::path log = entry.base.string() + "." + std::to_string(getpid());
    const Finished finished = run(words, log);
    fs::remove(log, error);
    if (finished.status != 0) return std::nullopt;
    output = finished.output;
    std::vector<std::string> inputs;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("input\t")) inputs.push_back(line.substr(6));
    }
    if (write_text(entry.file(".findings"), output)) entry.keep_inputs(inputs);
  }
  std::vector<Finding> findings;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    // Clang counts its errors in a line of its own.
    const bool is_finding = line.find('\t') != std::string::npos && !line.starts_with("input\t");
    if (is_finding) findings.push_back(split(line, '\t'));
  }
  return findings;
}

CompiledExtern compile_extern(const ExternSource& source, const Installation& installation,
                              const CompileOptions& options) {
  CompiledExtern compiled;
  std::vector<std::string> words = compile_command(installation, options, "2");
  std::string key = cpp_compiler();
  if (source.is_cuda()) {
    // nvcc asks more of incomplete types in C++20 than other compilers do.
    std::replace(words.begin(), words.end(), std::string("-std=c++20"), std::string("-std=c++17"));
    words[0] = find_nvcc().value_or("nvcc").string();
    words.insert(words.end(), {"--cudart=shared", "-ccbin", cpp_compiler(), "-Xcompiler", "-fPIC,-Wall"});
    key += identity(words[0]);
  } else {
    words.insert(words.end(), {"-fPIC", "-Wall", "-x", "c++"});
  }
  words.insert(words.end(), {"-I" + header_folder(source).string(), "-c", source.file.string()});
  for (const std::string& word : words) key += "|" + word;
  key += identity(installation.include / "ltr" / "extern.h");
  const Entry entry("objects", key);
  const fs::path object = entry.file(".o");
  if (!entry.is_fresh(".o")) {
    const std::string mine = entry.base.string() + "." + std::to_string(getpid());
    words.insert(words.end(), {"-o", mine + ".o", "-MD", "-MF", mine + ".d"});
    const Finished finished = run(words, mine + ".log");
    std::error_code error;
    fs::remove(mine + ".log", error);
    if (finished.status == 0) {
      const std::vector<std::string> inputs = dependencies(mine + ".d");
      fs::rename(mine + ".o", object, error);
      if (!error) entry.keep_inputs(inputs);
      compiled.warnings = finished.output;
    } else if (finished.status == -1) {
      compiled.errors.push_back({"", 0, 0, "there is no compiler `" + words[0] + "`"});
    } else {
      compiled.errors = errors_in(finished.output);
    }
    fs::remove(mine + ".d", error);
    if (!compiled.errors.empty()) return compiled;
  }
  compiled.object = ExternObject{object, digest(read_text(object)), source.is_cuda()};
  return compiled;
}

void add_cuda_libraries(std::vector<std::string>& words) {
  const auto nvcc = find_nvcc();
  if (!nvcc) return;
  const std::string folder = cuda_libraries(*nvcc).string();
  // The program needs the runtime itself, and LibTorch's path is not searched for it.
  words.insert(words.end(), {"-L" + folder, "-lcudart", "-Wl,-rpath," + folder});
}

}  // namespace ltr::toolchain
