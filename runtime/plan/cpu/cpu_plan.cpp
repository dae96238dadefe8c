#include "runtime/plan/cpu/cpu_plan.h"

#include <algorithm>
#include <functional>
#include <map>

#include "runtime/plan/cpu/in_place.h"
#include "runtime/plan/cpu/without_kernel.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/parallel.h"
#include "runtime/tensor/sparse.h"

namespace ltr::plan {

namespace {

int64_t bytes_of(DType dtype) { return int64_t(c10::elementSize(aten(dtype))); }

std::map<ValueId, Ints> strides_of(const std::unordered_map<ValueId, Tensor>& kept) {
  std::map<ValueId, Ints> strides;
  for (const auto& [id, tensor] : kept) strides[id] = In(tensor)->strides().vec();
  return strides;
}

/// `sparse`, which has the rows of this run in `memory` then. It is made once, for the most rows that there may be.
void take_rows(at::Tensor& sparse, const RowSums& sums, char* memory, const Ints& sizes) {
  const bool is_made = sparse.defined() && rows_of(sparse).values().const_data_ptr() == memory;
  if (!is_made) {
    const at::Tensor rows = at::from_blob(sums.rows(memory), {1, sums.most}, at::TensorOptions().dtype(at::kLong));
    const at::Tensor values =
        at::from_blob(sums.values(memory), {sums.most, sums.width}, at::TensorOptions().dtype(at::kFloat));
    // Each row is there once.
    sparse = at::_sparse_coo_tensor_unsafe(rows, values, sizes, values.options().layout(at::kSparse), true);
  }
  const at::SparseTensorImpl& made = rows_of(sparse);
  const int64_t count = sums.count(memory);
  made.indices().unsafeGetTensorImpl()->set_sizes_contiguous({1, count});
  made.values().unsafeGetTensorImpl()->set_sizes_contiguous({count, sums.width});
}

}  // namespace

bool has_fixed_sizes(const Graph& graph) {
  return std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    // What a mask takes is as many as it likes.
    const bool is_masked = node.op == Op::index_tensor && graph.values[node.value(2).id].dtype == DType::Bool;
    return is_masked || node.op == Op::unique || node.op == Op::append;
  });
}

CpuPlan::CpuPlan(const Graph& graph, const std::unordered_map<ValueId, Tensor>& kept,
                 const std::vector<Stretch>& stretches, int64_t samples, int threads, std::shared_ptr<Arena> arena,
                 std::set<ValueId> of_tables, bool narrows)
    : graph_(graph),
      kept_(kept),
      lowering_(graph, strides_of(kept), samples, std::move(of_tables), narrows),
      reference_(graph, kept),
      threads_(threads),
      arena_(std::move(arena)) {
  std::vector<std::vector<Item>> items;
  for (const Stretch& stretch : stretches) {
    items.push_back(lowering_.lower(stretch.begin, stretch.end, stretch.may_be_left_out));
    fuse(items.back());
  }
  keep_what_is_read(items, stretches);
  for (ValueId root = 0; root < lowering_.layouts().size(); ++root)
    bytes_.push_back(lowering_.elements()[root] * bytes_of(lowering_.dtype(root)));
  size_t phases = 0;
  for (std::vector<Item>& list : items) {
    for (Item& item : list) {
      if (item.point)
        item.call = make_point_call(*item.point, lowering_.elements(), lowering_.samples(), item.location);
      if (!item.node) scratch_bytes_ = std::max(scratch_bytes_, item.call.kernel->scratch_bytes());
    }
    stretches_.push_back({schedule(std::move(list), bytes_, samples), phases});
    phases += stretches_.back().phases.size();
    for (Phase& phase : stretches_.back().phases) {
      phase.first_call = calls_;
      calls_ += phase.node ? 1 : phase.calls.size();
    }
  }
  dies_behind_.resize(phases + 1);
  place_values(stretches);
  for (const auto& [id, tensor] : kept) given_.emplace_back(id, &tensor);
}

void CpuPlan::stay_alone_if_small() {
  // What one core of today does in a microsecond, bytes of memory or of a cache, and what a meeting takes, with the start of threads for
  // each stretch, and with a loader that wants one of the cores from time to time.
  constexpr double kBytes = 2e4, kCachedBytes = 1e5, kProducts = 5e4, kMeeting = 4;
  constexpr int64_t kCache = 512 << 10;
  const double bytes_of_one = memory_bytes_ <= kCache ? kCachedBytes : kBytes;
  double microseconds = 0;
  size_t phases = 0;
  for (const Planned& planned : stretches_) {
    phases += planned.phases.size();
    for (const Phase& phase : planned.phases) {
      for (const Call& call : phase.calls) {
        microseconds += call.kernel->products() / kProducts;
        for (const auto* touched : {&call.reads, &call.writes}) {
          for (const Touched& one : *touched) microseconds += double(bytes_[one.root]) / bytes_of_one;
        }
      }
    }
  }
  const double saved = microseconds / 2, lost = kMeeting * double(phases);
  if (threads_ == 1 || saved >= lost) return;
  threads_ = 1;
  why_alone_ = fmt::format("a second one would save about {:.0f} us, and {} take {:.0f}", saved,
                           phases == 1 ? Str("a meeting") : fmt::format("{} meetings", phases), lost);
}

/// Functions of elements store only what others read, and calls that give nothing to anyone are left out: asked from the end.
void CpuPlan::keep_what_is_read(std::vector<std::vector<Item>>& items, const std::vector<Stretch>& stretches) {
  std::vector<bool> is_read(lowering_.layouts().size());
  const auto reads = [&](Item& item) {
    if (item.node) {
      each_read(graph_.nodes[*item.node], [&](ValueId id) { is_read[lowering_.layout(id).root] = true; });
      return true;
    }
    if (item.point) {
      item.point->keep_stores(is_read);
      for (const auto& load : item.point->loads) is_read[load.layout.root] = true;
      return !item.point->stores.empty();
    }
    const bool gives = std::ranges::any_of(
        item.call.writes, [&](const Touched& to) { return is_read[to.root] || lowering_.is_given(to.root); });
    if (!gives) return false;
    for (const Touched& read : item.call.reads) is_read[read.root] = true;
    return true;
  };
  for (size_t s = items.size(); s-- > 0;) {
    for (const ValueId id : stretches[s].results) is_read[lowering_.layout(id).root] = true;
    std::vector<Item> kept;
    for (size_t at = items[s].size(); at-- > 0;) {
      if (reads(items[s][at])) kept.push_back(std::move(items[s][at]));
    }
    std::ranges::reverse(kept);
    items[s] = std::move(kept);
  }
}

/// Each root lives from the phase that writes it to the last that reads it; what reads behind a stretch reads at its end.
void CpuPlan::place_values(const std::vector<Stretch>& stretches) {
  constexpr size_t kNever = ~size_t(0);
  const size_t roots = lowering_.layouts().size();
  std::vector<size_t> first(roots, kNever), last(roots, 0);
  std::vector<bool> is_of_node(roots), stays(roots);
  std::vector<const Phase*> phases;
  std::vector<const Call*> first_writer(roots);
  const auto reads = [&](ValueId root, size_t phase) { last[root] = std::max(last[root], phase); };
  for (ValueId root = 0; root < roots; ++root) stays[root] = lowering_.is_given(root);
  for (size_t s = 0; s < stretches_.size(); ++s) {
    size_t phase = stretches_[s].first;
    for (const Phase& one : stretches_[s].phases) {
      phases.push_back(&one);
      for (const Call& call : one.calls) {
        for (const Touched& read : call.reads) reads(read.root, phase);
        for (const Touched& written : call.writes) {
          if (lowering_.is_given(written.root)) {
            changed_.insert(written.root);
            continue;
          }
          first[written.root] = std::min(first[written.root], phase);
          if (first_writer[written.root] == nullptr) first_writer[written.root] = &call;
          reads(written.root, phase);
        }
      }
      if (one.node) {
        const Node& node = graph_.nodes[*one.node];
        each_read(node, [&](ValueId id) {
          reads(lowering_.layout(id).root, phase);
          stays[lowering_.layout(id).root] = true;
        });
        for (const ValueId id : node.results) {
          if (id == kNone) continue;
          is_of_node[id] = stays[id] = true;
          reads(id, phase);
        }
      }
      ++phase;
    }
    // Stretches without phases end with the one before.
    for (const ValueId id : stretches[s].results) {
      reads(lowering_.layout(id).root, phase);
      stays[lowering_.layout(id).root] = true;
    }
  }
  const std::vector<ValueId> owners = owners_of(phases, bytes_, stays);
  for (ValueId root = 0; root < roots; ++root) reads(owners[root], last[root]);
  std::vector<Lifetime> lifetimes;
  std::vector<size_t> lifetime_of(roots);
  for (ValueId root = 0; root < roots; ++root) {
    if (is_of_node[root]) dies_behind_[std::min(last[root], dies_behind_.size() - 1)].push_back(root);
    if (first[root] == kNever) continue;
    placed_.emplace_back(root, 0);
    if (owners[root] != root) continue;
    lifetime_of[root] = lifetimes.size();
    lifetimes.push_back({bytes_[root], first[root], last[root]});
    lying_.push_back({lifetimes.back(), first_writer[root]});
  }
  const Placement placement = place(lifetimes);
  memory_bytes_ = placement.bytes;
  scratch_bytes_ = (scratch_bytes_ + 127) / 64 * 64;
  memory_.resize(roots, nullptr);
  for (auto& [root, offset] : placed_) offset = placement.offsets[lifetime_of[owners[root]]];
}

void CpuPlan::begin(uint64_t key) {
  key_ = key;
  char* const base = arena_->take(memory_bytes_ + scratch_bytes_ * threads_ + 64);
  if (std::exchange(base_, base) != base) {
    for (const auto& [root, offset] : placed_) memory_[root] = base + offset;
  }
  for (const auto& [id, tensor] : given_) memory_[id] = static_cast<char*>(In(*tensor)->data_ptr());
}

void CpuPlan::set(ValueId id, const Tensor& value) {
  at::Tensor tensor = In(value)->contiguous();
  memory_[id] = static_cast<char*>(tensor.data_ptr());
  held_[id] = std::move(tensor);
}

void CpuPlan::end() {
  for (auto& [id, tensor] : held_) tensor.reset();  // each keeps its place for the next run
  // Others ask by its count whether a buffer was written.
  for (const ValueId id : changed_) {
    if (const auto kept = kept_.find(id); kept != kept_.end()) In(kept->second)->unsafeGetTensorImpl()->bump_version();
  }
}

at::Tensor CpuPlan::view(ValueId id) {
  const Layout& layout = lowering_.layout(id);
  if (const auto kept = kept_.find(id); kept != kept_.end()) return aten(kept->second);
  const at::ScalarType type = aten(lowering_.dtype(id));
  at::Tensor& view = views_[id];
  if (const RowSums* const sums = lowering_.row_sums(id)) {
    take_rows(view, *sums, memory_[id], graph_.values[id].sizes);
    return view;
  }
  char* const begin = memory_[layout.root] + layout.offset * int64_t(c10::elementSize(type));
  if (!view.defined() || view.const_data_ptr() != begin)
    view = at::from_blob(begin, layout.sizes, layout.strides, at::TensorOptions().dtype(type));
  return view;
}

bool CpuPlan::run(size_t stretch) {
  const Planned& planned = stretches_[stretch];
  const Phase* const end = planned.phases.data() + planned.phases.size();
  size_t number = planned.first;
  for (const Phase* phase = planned.phases.data(); phase != end;) {
    const Phase* behind = phase;
    if (phase->node) {
      const auto start = stopwatch_ ? Stopwatch::Clock::now() : Stopwatch::Clock::time_point();
      run_node(*phase->node);
      if (stopwatch_) stopwatch_->add(0, phase->first_call, start);
      ++behind;
    } else {
      while (behind != end && !behind->node) ++behind;
      if (!run_calls(phase, behind)) return false;
    }
    for (; phase != behind; ++phase, ++number) {
      for (const ValueId id : dies_behind_[number]) held_[id].reset();
    }
  }
  return true;
}

bool CpuPlan::run_calls(const Phase* begin, const Phase* end) {
  std::atomic<bool> has_failed = false;
  const auto work = [&](int index, int threads, Meeting& meeting) {
    Part part;
    part.index = index;
    part.threads = threads;
    part.samples = lowering_.samples();
    std::tie(part.begin, part.end) = part.share(part.samples);
    part.scratch = base_ + memory_bytes_ + scratch_bytes_ * index;
    part.key = key_;
    part.has_failed = &has_failed;
    for (const Phase* phase = begin; phase != end; ++phase) {
      if (phase != begin) {
        const auto start = stopwatch_ ? Stopwatch::Clock::now() : Stopwatch::Clock::time_point();
        meeting.wait();
        if (stopwatch_) stopwatch_->add(index, calls_, start);
      }
      // What would read a value that is not there is left out.
      if (has_failed.load(std::memory_order_relaxed)) continue;
      for (const Chain& chain : phase->chains) run_chain(*phase, chain, part);
    }
  };
  run_team(threads_, work);
  return !has_failed;
}

void CpuPlan::run_chain(const Phase& phase, const Chain& chain, const Part& whole) const {
  Part part = whole;
  do {
    part.end = std::min(whole.end, part.begin + chain.samples);
    for (size_t at = chain.begin; at < chain.end; ++at) {
      const Call& call = phase.calls[at];
      if (call.split == Split::Alone && part.index != 0) continue;
      const auto start = stopwatch_ ? Stopwatch::Clock::now() : Stopwatch::Clock::time_point();
      call.kernel->run(memory_, part);
      if (stopwatch_) stopwatch_->add(part.index, phase.first_call + at, start);
    }
    part.begin = part.end;
  } while (part.begin < whole.end);
}

void CpuPlan::run_node(size_t at) {
  const Node& node = graph_.nodes[at];
  std::vector<at::Tensor> views;
  each_read(node, [&](ValueId id) {
    views.push_back(view(id));
    reference_.set(id, give(views.back()));
  });
  {
    const DrawScope draws({key_, 0});
    reference_.run(at, at + 1);
  }
  each_read(node, [&](ValueId id) {
    if (!kept_.contains(id)) reference_.set(id, {});
  });
  for (const ValueId id : node.results) {
    if (id == kNone || !reference_.value(id).defined()) continue;
    at::Tensor result = In(reference_.value(id))->contiguous();
    reference_.set(id, {});
    // What it shows of other memory may be written again, or be gone, before it is read.
    if (std::ranges::any_of(views, [&](const at::Tensor& one) { return result.is_alias_of(one); }))
      result = result.clone();
    memory_[id] = static_cast<char*>(result.data_ptr());
    held_[id] = std::move(result);
  }
}

void CpuPlan::measure(const bool& traces) { stopwatch_ = std::make_unique<Stopwatch>(threads_, calls_ + 1, traces); }

std::vector<CallSpan> CpuPlan::spans() const {
  std::vector<CallSpan> spans;
  if (stopwatch_) stopwatch_->each_span([&](const CallSpan& span) { spans.push_back(span); });
  return spans;
}

std::vector<CallCost> CpuPlan::costs() const {
  std::vector<CallCost> costs;
  if (!stopwatch_) return costs;
  for (const Planned& planned : stretches_) {
    for (const Phase& phase : planned.phases) {
      if (phase.node) {
        const Node& node = graph_.nodes[*phase.node];
        costs.push_back(
            {node.location, fmt::format("{} of LibTorch", name_of(node.op)), stopwatch_->of_all(phase.first_call)});
      }
      for (size_t i = 0; i < phase.calls.size(); ++i) {
        const Call& call = phase.calls[i];
        CallCost& cost = costs.emplace_back(CallCost{
            call.location, call.kernel->text(), stopwatch_->of_all(phase.first_call + i), call.kernel->products()});
        for (const auto* touched : {&call.reads, &call.writes}) {
          for (const Touched& one : *touched) cost.bytes += double(bytes_[one.root]);
        }
      }
    }
  }
  costs.push_back({{}, "threads wait for each other", stopwatch_->of_all(calls_)});
  return costs;
}

Str CpuPlan::memory_text() const {
  constexpr size_t kLines = 8;
  constexpr double kMiB = 1 << 20;
  struct Line {
    int64_t bytes = 0, values = 0;
  };
  std::map<size_t, int64_t> changes;  // by phase
  for (const auto& [lifetime, writer] : lying_) {
    changes[lifetime.first] += lifetime.bytes;
    changes[lifetime.last + 1] -= lifetime.bytes;
  }
  int64_t bytes = 0, most = 0;
  size_t at = 0;
  for (const auto& [phase, change] : changes) {
    bytes += change;
    if (bytes > most) at = phase;
    most = std::max(most, bytes);
  }
  std::map<std::pair<Str, Str>, Line> lines;
  for (const auto& [lifetime, writer] : lying_) {
    if (at < lifetime.first || lifetime.last < at) continue;
    Line& line = lines[{fmt::format("{}:{}", writer->location.file, writer->location.line), writer->kernel->text()}];
    line.bytes += lifetime.bytes;
    ++line.values;
  }
  std::vector<std::pair<std::pair<Str, Str>, Line>> sorted(lines.begin(), lines.end());
  std::ranges::stable_sort(sorted, std::greater(), [](const auto& one) { return one.second.bytes; });
  Str text = fmt::format("  {:.2f} MiB of them at one time, when most are needed:\n", double(most) / kMiB);
  int64_t rest = most;
  for (size_t i = 0; i < std::min(kLines, sorted.size()); ++i) {
    const auto& [made, line] = sorted[i];
    const Str times = line.values > 1 ? fmt::format(", {} times", line.values) : Str();
    text += fmt::format("  {:>8.2f} MiB {:<20} {}{}\n", double(line.bytes) / kMiB, made.first, made.second, times);
    rest -= line.bytes;
  }
  if (sorted.size() > kLines)
    text += fmt::format("  {:>8.2f} MiB of {} others\n", double(rest) / kMiB, sorted.size() - kLines);
  return text;
}

Str CpuPlan::kernels_text() const {
  const kernels::ProductKernel& products = lowering_.products();
  return fmt::format("  kernels for {}, products{} in tiles of {} x {}\n", at::get_cpu_capability(), type_of(products),
                     products.rows, products.width);
}

Str CpuPlan::threads_text() const {
  return fmt::format("{} thread{}{}", threads_, threads_ == 1 ? "" : "s",
                     why_alone_.empty() ? Str() : fmt::format(" ({})", why_alone_));
}

namespace {

/// Behind a call: why its kernel, and why threads share it so. What each does of its own samples needs no word.
Str why_text(const Call& call, const std::set<ValueId>& of_samples) {
  Str split = call.why_split;
  if (split.empty() && call.split != Split::Samples) {
    const bool is_over_samples =
        std::ranges::any_of(call.reads, [&](const Touched& read) { return of_samples.contains(read.root); });
    split = is_over_samples ? "over all samples" : "of no sample";
    if (is_over_samples && call.split == Split::Alone) split += ", in their order";
  }
  if (call.why.empty() && split.empty()) return "";
  return fmt::format(" ({}{}{})", call.why, call.why.empty() || split.empty() ? "" : "; ", split);
}

}  // namespace

/// Roots of which each thread has its own samples.
std::set<ValueId> CpuPlan::of_samples() const {
  std::set<ValueId> roots;
  for (ValueId id = 0; id < graph_.values.size(); ++id) {
    if (graph_.values[id].kind == Value::Kind::Input && lowering_.is_apart(lowering_.layout(id))) roots.insert(id);
  }
  for (const Planned& planned : stretches_) {
    for (const Phase& phase : planned.phases) {
      for (const Call& call : phase.calls) {
        for (const Touched& written : call.writes) {
          if (call.split == Split::Samples && written.is_own) roots.insert(written.root);
        }
      }
    }
  }
  return roots;
}

Str CpuPlan::text() const {
  Str lines;
  const std::set<ValueId> samples = of_samples();
  const auto line = [&](const char* who, const Location& location, const Str& what) {
    lines += fmt::format("  {:<8} {:<24} {}\n", who, fmt::format("{}:{}", location.file, location.line), what);
  };
  for (const Planned& planned : stretches_) {
    for (const Phase& phase : planned.phases) {
      if (&phase != planned.phases.data() || &planned != stretches_.data()) lines += "  threads meet\n";
      if (phase.node) {
        const Node& node = graph_.nodes[*phase.node];
        line("LibTorch", node.location, fmt::format("{}: {}", name_of(node.op), why_no_kernel(graph_, node)));
      }
      for (const Chain& chain : phase.chains) {
        const bool is_long = chain.end - chain.begin > 1 && chain.samples < lowering_.samples();
        if (is_long) lines += fmt::format("  {} samples at a time:\n", chain.samples);
        static constexpr const char* kSplits[] = {"samples", "shares", "alone"};
        for (size_t i = chain.begin; i < chain.end; ++i) {
          const Call& call = phase.calls[i];
          line(kSplits[size_t(call.split)], call.location, call.kernel->text() + why_text(call, samples));
        }
      }
    }
  }
  return lines;
}

}  // namespace ltr::plan
