#include "dsl/check/experiment/record_counts.h"
#include "dsl/check/experiment/wired.h"

namespace ltr::check {

namespace {

void check_stream(Context& cx, const Experiment& experiment, const StreamDecl& stream) {
  const auto batches = batches_of(stream, experiment, cx);
  if (!batches || is_reported(cx, diagnostics::Code::E0519, batches->size_span)) return;
  const std::string name = stream.role + (stream.name.empty() ? "" : "." + stream.name);
  if (!batches->lost_windows.is_empty()) {
    if (is_reported(cx, diagnostics::Code::E0519, batches->lost_windows)) return;
    cx.report(diag::no_batch(batches->lost_windows, name, std::to_string(batches->size))
                  .note("a window is longer than all that it slides over")
                  .help("shorter windows, or more of the records for `{}`", name));
    return;
  }
  if (!batches->drops_last || batches->records >= batches->size) return;
  cx.report(diag::no_batch(batches->size_span, name, std::to_string(batches->size))
                .label(batches->drop_span, "what is less than a batch is dropped")
                .note("it has {} records", batches->records)
                .help("smaller batches, or no `drop_last`"));
}

}  // namespace

void check_no_batches(Context& cx, const Experiment& experiment) {
  for (const StreamDecl& stream : cx.program.datas[experiment.data].streams) {
    if (!stream.value.type.is_error()) check_stream(cx, experiment, stream);
  }
}

}  // namespace ltr::check
