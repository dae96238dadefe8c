#include "ltrc/externs.h"

#include <fmt/core.h>

#include <algorithm>

#include "codegen/emit/emit.h"
#include "codegen/lower/lower.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::driver {

namespace {

namespace fs = std::filesystem;
using check::ExternFile;
using check::ExternFn;
using diagnostics::Diagnostic;
using source::Span;
using toolchain::ExternSource;
using toolchain::Finding;

fs::path path_of(const ExternFile& file) {
  return (fs::path(file.module).parent_path() / file.file).lexically_normal();
}

/// The files to compile: a `.cu` where there is a compiler for it, and its `.cpp` of the same stem
/// for the CPU.
struct Forms {
  std::optional<fs::path> cpp;
  std::optional<fs::path> cuda;

  std::vector<fs::path> all() const {
    std::vector<fs::path> files;
    if (cpp) files.push_back(*cpp);
    if (cuda) files.push_back(*cuda);
    return files;
  }
};

Forms forms_of(const fs::path& path) {
  if (path.extension() != ".cu") return {path, std::nullopt};
  Forms forms;
  std::error_code error;
  fs::path twin = path;
  twin.replace_extension(".cpp");
  if (fs::exists(twin, error)) forms.cpp = twin;
  if (toolchain::find_nvcc()) forms.cuda = path;
  return forms;
}

/// Compares one file with its declarations.
class Checker {
 public:
  Checker(const ExternFile& file, fs::path path, Compilation& compilation)
      : file_(file), path_(std::move(path)), compilation_(compilation) {}

  void report(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      const std::string& kind = finding[0];
      if (kind == "error") {
        compile_error(finding);
        break;  // What follows the first is mostly its consequence.
      }
      for (const ExternFn& fn : file_.fns) {
        if (fn.name == finding[1]) difference(finding, fn);
        if (fn.backward == finding[1]) backward(finding, fn);
      }
    }
  }

 private:
  /// The place whose file, line, column and length begin at word `at` of a finding.
  Span place(const Finding& finding, size_t at) {
    if (finding.size() < at + 4 || finding[at + 1] == "0") return {};
    // Clang gives whole paths; people know the file as the program names it.
    std::error_code error;
    const std::string file = fs::equivalent(finding[at], path_, error) ? path_.string() : finding[at];
    return cpp_span(compilation_, file, uint32_t(std::stoul(finding[at + 1])), uint32_t(std::stoul(finding[at + 2])),
                    uint32_t(std::stoul(finding[at + 3])));
  }

  void send(Diagnostic diagnostic) { compilation_.sink->report(std::move(diagnostic)); }

  void compile_error(const Finding& finding) {
    Diagnostic diagnostic = diag::extern_not_compiled(file_.span, path_.string(), finding[5]);
    if (const Span span = place(finding, 1); !span.is_empty()) diagnostic.label(span, "{}", finding[5]);
    send(std::move(diagnostic));
  }

  void difference(const Finding& finding, const ExternFn& fn) {
    const std::string& kind = finding[0];
    if (kind == "missing") {
      Diagnostic diagnostic = diag::extern_not_found(fn.span, path_.string(), fn.name);
      const std::vector<std::string> defined(finding.begin() + 2, finding.end());
      if (const auto near = diagnostics::suggest(fn.name, defined)) {
        diagnostic.help("did you mean `{}`?", *near).fix(fn.span, *near);
      } else if (!defined.empty()) {
        diagnostic.note("it defines {}", joined(defined));
      }
      send(std::move(diagnostic));
    } else if (kind == "hidden") {
      send(diag::extern_not_found(fn.span, path_.string(), fn.name)
               .label(place(finding, 2), "this one {}", finding[6])
               .help("define it outside of name spaces, without `static`"));
    } else if (kind == "count") {
      const size_t found = std::stoul(finding[6]), wanted = std::stoul(finding[7]);
      const Span span = found < wanted && found < fn.param_spans.size() ? fn.param_spans[found] : fn.span;
      send(diag::extern_param_count(span, fn.name, counted(found),
                                    std::to_string(wanted) + (wanted == 1 ? " is" : " are"))
               .label(place(finding, 2), "defined here"));
    } else if (kind == "param") {
      const size_t index = std::stoul(finding[6]);
      const check::Local& param = fn.params[index];
      send(diag::extern_param_type(fn.param_spans[index], param.name, quoted(finding[8]), quoted(finding[9]))
               .label(fn.param_spans[index], "{} in C++", quoted(finding[9]))
               .label(place(finding, 2), "{}", quoted(finding[8])));
    } else if (kind == "result") {
      send(diag::extern_result_type(fn.result_span, fn.name, quoted(finding[6]), quoted(finding[7]))
               .label(fn.result_span, "{} in C++", quoted(finding[7]))
               .label(place(finding, 2), "{}", quoted(finding[6])));
    }
  }

  void backward(const Finding& finding, const ExternFn& fn) {
    const std::string& kind = finding[0];
    std::string message =
        path_.string() + " defines no function `" + fn.backward + "`, the gradient of `" + fn.name + "`";
    if (kind == "hidden") {
      message = "`" + fn.backward + "` cannot be called from other files: it " + finding[6];
    } else if (kind == "count") {
      message = "`" + fn.backward + "` takes " + counted(std::stoul(finding[6])) + ", but the gradient of `" + fn.name +
                "` is handed " + finding[7];
    } else if (kind == "param") {
      message = "`" + fn.backward + "` takes " + quoted(finding[8]) + " where it is handed " + quoted(finding[9]);
    } else if (kind == "result") {
      message = "`" + fn.backward + "` gives " + quoted(finding[6]) + ", but the gradient of `" + fn.name + "` is " +
                quoted(finding[7]);
    }
    Diagnostic diagnostic = diag::backward_differs(fn.backward_span, message);
    if (kind == "missing") {
      const std::vector<std::string> defined(finding.begin() + 2, finding.end());
      if (const auto near = diagnostics::suggest(fn.backward, defined)) diagnostic.help("did you mean `{}`?", *near);
    } else {
      diagnostic.label(place(finding, 2), "defined here");
    }
    diagnostic.note(
        "it is handed the inputs, the output and its gradient, and gives the gradient of each "
        "`float` input");
    send(std::move(diagnostic));
  }

  static std::string quoted(const std::string& text) { return "`" + text + "`"; }
  static std::string counted(size_t count) {
    return std::to_string(count) + (count == 1 ? " parameter" : " parameters");
  }
  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (size_t i = 0; i < names.size() && i < 8; ++i) text += (i == 0 ? "`" : ", `") + names[i] + "`";
    return text;
  }

 public:
  /// A place in a C++ file, which is loaded when it is first shown.
  static Span cpp_span(Compilation& compilation, const std::string& file, uint32_t line, uint32_t column,
                       uint32_t length) {
    source::SourceManager& sources = compilation.sources;
    source::SourceId id;
    for (uint32_t i = 1; i <= sources.count(); ++i) {
      if (sources.path({i}) == file) id = {i};
    }
    if (!sources.contains(id)) id = sources.load(file).source;
    if (!sources.contains(id) || line == 0) return {};
    const std::string_view text = sources.text(id);
    size_t begin = 0;
    for (uint32_t i = 1; i < line && begin != std::string_view::npos; ++i) {
      begin = text.find('\n', begin);
      if (begin != std::string_view::npos) ++begin;
    }
    if (begin == std::string_view::npos) return {};
    begin = std::min(begin + (column > 0 ? column - 1 : 0), text.size());
    const size_t end = std::min(begin + std::max<size_t>(length, 1), text.size());
    return {id, uint32_t(begin), uint32_t(end)};
  }

 private:
  const ExternFile& file_;
  fs::path path_;
  Compilation& compilation_;
};

void report_missing(const ExternFile& file, const fs::path& path, Compilation& compilation) {
  Diagnostic diagnostic = diag::extern_file_missing(file.span, path.string());
  std::vector<std::string> there;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path.has_parent_path() ? path.parent_path() : fs::path("."), error)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".cpp" || extension == ".cu" || extension == ".cc")
      there.push_back(entry.path().filename().string());
  }
  std::sort(there.begin(), there.end());
  if (const auto near = diagnostics::suggest(path.filename().string(), there)) {
    diagnostic.help("did you mean {}?", *near);
  }
  compilation.sink->report(std::move(diagnostic).note("it is looked for beside {}", file.module));
}

void report_no_cuda(const ExternFile& file, const fs::path& path, Compilation& compilation) {
  fs::path twin = path;
  twin.replace_extension(".cpp");
  compilation.sink->report(diag::cuda_unavailable(file.span, path.string(), "there is no nvcc, the CUDA compiler")
                               .help("install the CUDA toolkit, set CUDACXX, or write {} for the CPU", twin.string()));
}

/// False after a report. A form for the CPU does not help: with an nvcc the program has both.
bool check_toolkit(const ExternFile& file, const Forms& forms, Compilation& compilation) {
  const auto nvcc = forms.cuda ? toolchain::find_nvcc() : std::nullopt;
  const auto reason = nvcc ? toolchain::broken_toolkit(*nvcc) : std::nullopt;
  if (!reason) return true;
  compilation.sink->report(diag::cuda_unavailable(file.span, forms.cuda->string(), *reason)
                               .help("install the toolkit of CUDA 13, and set CUDACXX to its nvcc"));
  return false;
}

}  // namespace

std::vector<std::string> extern_headers(const Compilation& compilation) {
  std::vector<std::string> headers;
  const ir::Module module = lower::lower_externs(*compilation.program, compilation.sources);
  for (const ir::ExternFile& file : module.tables->externs) {
    headers.push_back(emit::emit_extern_header(file));
  }
  return headers;
}

void check_externs(Compilation& compilation) {
  if (!compilation.program || compilation.program->externs.empty()) return;
  const toolchain::Installation installation = toolchain::find_installation();
  // A declaration with an error has no C++ form to compare with.
  const bool may_compare = !compilation.has_errors();
  const std::vector<std::string> headers = may_compare ? extern_headers(compilation) : std::vector<std::string>();
  bool has_tool = true;
  for (size_t i = 0; i < compilation.program->externs.size(); ++i) {
    const ExternFile& file = compilation.program->externs[i];
    const fs::path path = path_of(file);
    std::error_code error;
    if (!fs::exists(path, error)) {
      report_missing(file, path, compilation);
      continue;
    }
    const Forms forms = forms_of(path);
    if (forms.all().empty()) report_no_cuda(file, path, compilation);
    if (!check_toolkit(file, forms, compilation) || !may_compare) continue;
    for (const fs::path& form : forms.all()) {
      const auto findings = toolchain::check_extern({form, headers[i]}, installation);
      if (findings) Checker(file, form, compilation).report(*findings);
      has_tool = has_tool && findings.has_value();
    }
  }
  if (!has_tool) {
    fmt::print(stderr,
               "note: ltr_extern_check is not installed, so C++ files are compared with their "
               "declarations when "
               "the program is linked\n");
  }
}

std::optional<std::vector<toolchain::ExternObject>> build_externs(Compilation& compilation,
                                                                  const toolchain::Installation& installation,
                                                                  const toolchain::CompileOptions& options) {
  std::vector<toolchain::ExternObject> objects;
  bool has_error = false;
  const std::vector<std::string> headers = extern_headers(compilation);
  for (size_t i = 0; i < headers.size(); ++i) {
    const ExternFile& file = compilation.program->externs[i];
    for (const fs::path& form : forms_of(path_of(file)).all()) {
      toolchain::CompiledExtern compiled = toolchain::compile_extern({form, headers[i]}, installation, options);
      if (!compiled.warnings.empty()) fmt::print(stderr, "{}", compiled.warnings);
      if (compiled.object) {
        objects.push_back(std::move(*compiled.object));
        continue;
      }
      has_error = true;
      const toolchain::CompilerMessage& first = compiled.errors.front();
      Diagnostic diagnostic = diag::extern_not_compiled(file.span, form.string(), first.text);
      for (const toolchain::CompilerMessage& message : compiled.errors) {
        const Span span = Checker::cpp_span(compilation, message.file, message.line, message.column, 1);
        if (!span.is_empty()) diagnostic.label(span, "{}", message.text);
      }
      compilation.sink->report(std::move(diagnostic));
    }
  }
  if (has_error) return std::nullopt;
  return objects;
}

}  // namespace ltr::driver
