#include "dsl/lex/lex.h"

#include "dsl/lex/scanner.h"

namespace ltr::lex {

TokenBuffer lex(source::SourceId source, std::string_view text, diagnostics::Sink& sink) {
  TokenBuffer buffer = Scanner(source, text, sink).run();
  lay_out(buffer);
  return buffer;
}

}  // namespace ltr::lex
