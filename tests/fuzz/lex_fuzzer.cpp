// Every text becomes tokens that stand in order within it, the last of them the end.
#include "dsl/lex/lex.h"
#include "dsl/source/source_manager.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ltr;
  source::SourceManager sources;
  const source::SourceId id = sources.add("fuzz.ltr", std::string(fuzz::text_of(data, size)));
  diagnostics::Sink sink;
  const lex::TokenBuffer buffer = lex::lex(id, sources.text(id), sink);
  fuzz::expect(!buffer.tokens.empty() && buffer.tokens.back().kind == lex::TokenKind::End, "the last token is the end");
  for (const lex::Token& token : buffer.tokens) {
    fuzz::expect(token.span.begin <= token.span.end && token.span.end <= size, "a token lies within the text");
  }
  return 0;
}
