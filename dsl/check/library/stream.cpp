#include "dsl/check/declarations/declarations.h"
#include "dsl/check/library/library_call.h"

namespace ltr::check {

std::optional<Expr> check_stream_call(const std::string& name, CallSite& site) {
  Scope& scope = site.scope;
  Context& cx = scope.cx;
  const auto symbol = cx.graph.stages.find(name);
  if (symbol == cx.graph.stages.end()) return std::nullopt;
  const FnInfo& op = fn_of(cx, symbol->second);
  const bool takes_stream = !op.params.empty() && op.params[0].type.kind == Kind::Stream;
  if (!takes_stream) return call_by_rule(op, site);
  if (site.given.empty() || site.given[0].name) return std::nullopt;
  Expr stream = check_given(site.given[0], scope);
  if (stream.type.is_error()) return error_at(site.span);
  if (stream.type.kind != Kind::Stream) {
    if (cx.graph.prelude.contains(name)) return std::nullopt;
    const bool is_list = stream.type.kind == Kind::List && !stream.type.fields.empty() &&
                         stream.type.fields[0].type.kind == Kind::Stream;
    diagnostics::Diagnostic diagnostic = diag::wrong_argument(
        stream.span, "`" + name + "` takes a stream, not " + (is_list ? "a list of streams" : cx.text(stream.type)));
    if (is_list && op.id == library::Id::Concat)
      diagnostic.help("one stream behind the other: `a |> concat(b)`");
    else if (is_list)
      diagnostic.help("`{}[0]` is the first of them", cx.source_text(stream.span));
    cx.report(std::move(diagnostic));
    return error_at(site.span);
  }
  site.given[0].checked = std::move(stream);
  return call_by_rule(op, site);
}

}  // namespace ltr::check
