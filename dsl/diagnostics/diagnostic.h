#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dsl/diagnostics/argument.h"
#include "dsl/source/span.h"

namespace ltr::diagnostics {

using source::Span;

enum class Severity { Error, Warning };

/// Every code of the compiler, in the order of the tables. `None` is no diagnostic.
enum class Code : uint16_t {
  None,
#define LTR_DIAGNOSTIC(code, name, severity, format, ...) code,
#include "dsl/diagnostics/diagnostics.def"
};

/// A row of the tables.
struct CodeInfo {
  Code code = Code::None;
  std::string_view text;  ///< `E0304`
  std::string_view name;  ///< `symbolic_broadcast`
  Severity severity = Severity::Error;
  std::string_view format;
};

/// All rows, in the order of `Code`, without `None`.
std::span<const CodeInfo> all_codes();
const CodeInfo& info(Code code);
std::string_view to_text(Code code);
/// `find_code("E0304")`.
std::optional<Code> find_code(std::string_view text);

/// What a label says about its place, where messages that have it in common may be one mistake (`one_cause.h`).
enum class Tie : uint8_t {
  None,
  Required,   ///< asks for what does not hold
  AskedBy,    ///< the use that brings a rule about what is given elsewhere
  OtherRule,  ///< another rule of that use
  Declared,   ///< the declared type that does not fit
  Gives,      ///< the function whose result does not
  Hook,       ///< does not bring the name
  Batches,    ///< makes batches of records
  Cut,        ///< cuts a tensor into parts
  Built,      ///< gives the sizes of what is used there
};

struct Label {
  Span span;
  std::string message;
  Tie tie = Tie::None;
};

/// A change of the source. It is right whenever it is offered, or a guess, which editors offer and nobody makes unasked.
struct Fix {
  Span span;  ///< empty: an insertion
  std::string replacement;
  bool is_guess = false;
};

/// One message. Made by the functions in `diag`, which the tables generate; what else it says is chained:
/// `diag::symbolic_broadcast(span, a, b).label(left, "{}", a).help("write `.squeeze(1)`")`.
struct Diagnostic {
  Code code = Code::None;
  Severity severity = Severity::Error;
  std::string message;
  Span span;  ///< a default span: the message is about no place in a file
  std::vector<Label> labels;
  std::vector<std::string> notes;
  std::vector<std::string> helps;
  std::vector<Fix> fixes;
  std::vector<std::string> words;   ///< what its message was filled with
  std::vector<std::string> listed;  ///< the names that its note lists, of which another message may have some, too
  std::string rule;                 ///< that does not hold, where the message says what follows

  template <class... Args>
  Diagnostic& label(Span where, std::type_identity_t<Format<sizeof...(Args)>> format, const Args&... args) & {
    labels.push_back({where, fill(format.text(), {Text(args)...})});
    return *this;
  }
  template <class... Args>
  Diagnostic& tie(Tie tie, Span where, std::type_identity_t<Format<sizeof...(Args)>> format, const Args&... args) & {
    labels.push_back({where, fill(format.text(), {Text(args)...}), tie});
    return *this;
  }
  template <class... Args>
  Diagnostic& note(std::type_identity_t<Format<sizeof...(Args)>> format, const Args&... args) & {
    notes.push_back(fill(format.text(), {Text(args)...}));
    return *this;
  }
  template <class... Args>
  Diagnostic& help(std::type_identity_t<Format<sizeof...(Args)>> format, const Args&... args) & {
    helps.push_back(fill(format.text(), {Text(args)...}));
    return *this;
  }
  Diagnostic& fix(Span where, std::string replacement) & {
    fixes.push_back({where, std::move(replacement), false});
    return *this;
  }
  Diagnostic& guess(Span where, std::string replacement) & {
    fixes.push_back({where, std::move(replacement), true});
    return *this;
  }
  template <class... Args>
  Diagnostic&& label(Span where, std::type_identity_t<Format<sizeof...(Args)>> format, const Args&... args) && {
    return std::move(label(where, format, args...));
  }
  template <class... Args>
  Diagnostic&& tie(Tie tie, Span where, std::type_identity_t<Format<sizeof...(Args)>> format, const Args&... args) && {
    return std::move(this->tie(tie, where, format, args...));
  }
  template <class... Args>
  Diagnostic&& note(std::type_identity_t<Format<sizeof...(Args)>> format, const Args&... args) && {
    return std::move(note(format, args...));
  }
  template <class... Args>
  Diagnostic&& help(std::type_identity_t<Format<sizeof...(Args)>> format, const Args&... args) && {
    return std::move(help(format, args...));
  }
  Diagnostic&& fix(Span where, std::string replacement) && { return std::move(fix(where, std::move(replacement))); }
};

/// A row of the tables as a function. The message is checked against the arguments when it is compiled.
template <Code kCode, Severity kSeverity, class... Args>
class Constructor {
 public:
  consteval explicit Constructor(Format<sizeof...(Args)> format) : format_(format) {}

  Diagnostic operator()(Span span, Args... args) const {
    Diagnostic diagnostic;
    diagnostic.code = kCode;
    diagnostic.severity = kSeverity;
    diagnostic.words = {Text(std::move(args)).value()...};
    diagnostic.message = fill(format_.text(), diagnostic.words);
    diagnostic.span = span;
    return diagnostic;
  }

 private:
  Format<sizeof...(Args)> format_;
};

}  // namespace ltr::diagnostics

namespace ltr::diag {

using diagnostics::Text;

#define LTR_DIAGNOSTIC(code, name, severity, format, ...)                                                             \
  inline constexpr ::ltr::diagnostics::Constructor<::ltr::diagnostics::Code::code,                                    \
                                                   ::ltr::diagnostics::Severity::severity __VA_OPT__(, ) __VA_ARGS__> \
      name{format};
#include "dsl/diagnostics/diagnostics.def"

}  // namespace ltr::diag
