// How often classes occur: what metrics keep of a batch.

#include <algorithm>

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

bool* bools(Memory memory, const Layout& layout) {
  return reinterpret_cast<bool*>(memory[layout.root]) + layout.offset;
}

/// Whether a label counts: all do but the one that is ignored.
bool counted(Lowering& to) {
  const ValueId label = to.argument(0);
  if (to.dtype(label) != DType::I64 || !to.layout(label).is_dense() || to.layout(label).count() == 0) return false;
  const Layout ids = to.layout(label), out = to.layout(to.result());
  const auto* ignored = std::get_if<int64_t>(&to.node().arguments[1]);
  const Option<int64_t> none = ignored != nullptr ? Option<int64_t>(*ignored) : std::nullopt;
  const int64_t classes = to.node().host<int64_t>(2);
  const Rows rows{ids.count(), 1, to.is_apart(ids) && to.is_apart(out)};
  call(to, rows.split(), {to.touched(ids, rows.by_samples)}, {to.touched(out, rows.by_samples)}, named(to, ids),
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         for (int64_t i = begin; i < end; ++i) {
           const int64_t id = longs(memory, ids)[i];
           const bool counts = id != none;
           if (counts && (id < 0 || id >= classes)) return part.fails();
           bools(memory, out)[i] = counts;
         }
       });
  return true;
}

/// Of each class, or of each pair of a label and what was said instead: how many places that count have it.
bool count(Lowering& to, bool has_pairs) {
  const size_t first = has_pairs ? 1 : 0;
  const ValueId said = to.argument(0), label = to.argument(first), counts = to.argument(first + 1);
  for (const ValueId id : {said, label, counts}) {
    if (to.dtype(id) != (id == counts ? DType::Bool : DType::I64) || !to.layout(id).is_dense()) return false;
    if (to.layout(id).count() != to.layout(label).count() || to.layout(id).count() == 0) return false;
  }
  const Layout guesses = to.layout(said), ids = to.layout(label), are = to.layout(counts), out = to.layout(to.result());
  const int64_t classes = to.node().host<int64_t>(first + 2);
  call(to, Split::Alone, {{guesses.root, false}, {ids.root, false}, {are.root, false}}, {{out.root, false}},
       named(to, ids), [=](Memory memory, const Part& part) {
         int64_t* const sums = longs(memory, out);
         std::fill_n(sums, out.count(), 0);
         for (int64_t i = 0; i < ids.count(); ++i) {
           if (!bools(memory, are)[i]) continue;
           const int64_t id = longs(memory, ids)[i], guess = longs(memory, guesses)[i];
           if (std::min(id, guess) < 0 || std::max(id, guess) >= classes) return part.fails();
           ++sums[has_pairs ? id * classes + guess : id];
         }
       });
  return true;
}

}  // namespace

bool lower_counts(Lowering& to) {
  switch (to.node().op) {
    case Op::counted: return counted(to);
    case Op::class_counts: return count(to, false);
    case Op::confusion_counts: return count(to, true);
    default: return false;
  }
}

}  // namespace ltr::plan
