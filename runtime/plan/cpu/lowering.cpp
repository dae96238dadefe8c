#include "runtime/plan/cpu/lowering.h"

#include <algorithm>

namespace ltr::plan {

Lowering::Lowering(const Graph& graph, const std::map<ValueId, Ints>& strides, int64_t samples,
                   std::set<ValueId> of_tables, bool narrows)
    : graph_(graph),
      products_(narrows ? kernels::narrow_product_kernel() : kernels::product_kernel()),
      samples_(std::max<int64_t>(samples, 1)),
      of_tables_(std::move(of_tables)) {
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    Layout layout = dense(id, value.sizes);
    int64_t elements = layout.count();
    if (const auto own = strides.find(id); own != strides.end()) {
      layout.strides = own->second;
      elements = layout.count() == 0 ? 0 : 1;
      for (size_t axis = 0; axis < layout.sizes.size() && elements > 0; ++axis)
        elements += (layout.sizes[axis] - 1) * layout.strides[axis];
    }
    layouts_.push_back(std::move(layout));
    types_.push_back(value.dtype);
    elements_.push_back(elements);
  }
}

std::vector<Item> Lowering::lower(size_t begin, size_t end, bool may_be_left_out) {
  const size_t left_before = left_.size();
  items_.clear();
  panels_.clear();
  for (size_t at = begin; at < end; ++at) {
    node_ = &graph_.nodes[at];
    why_.clear();
    const size_t before = items_.size();
    if (const Option<std::vector<Layout>> views = views_of(*node_, graph_, layouts_)) {
      for (size_t i = 0; i < node_->results.size(); ++i) {
        if (node_->results[i] != kNone) layouts_[node_->results[i]] = (*views)[i];
      }
      continue;
    }
    const bool is_empty = std::any_of(node_->results.begin(), node_->results.end(),
                                      [&](ValueId id) { return id != kNone && layouts_[id].count() == 0; });
    // What holds nothing is there.
    if (is_empty && (node_->op == Op::zeros || node_->op == Op::ones)) continue;
    bool is_done = false;
    for (const Room room :
         {lower_elements,  lower_product, lower_convolution, lower_rows,       lower_classes, lower_attention,
          lower_rotation,  lower_whole,   lower_shape,       lower_pool,       lower_norm,    lower_recurrent,
          lower_reduction, lower_loss,    lower_index,       lower_order,      lower_draw,    lower_resample,
          lower_counts,    lower_einsum,  lower_pairs,       lower_cumulative, lower_rnn,     lower_volume,
          lower_ctc,       lower_types})
      is_done = is_done || (!is_empty && room(*this));
    if (!is_done) items_.push_back({.node = at});
    for (size_t i = before; i < items_.size(); ++i) items_[i].location = items_[i].call.location = node_->location;
  }
  if (may_be_left_out) left_.resize(left_before);
  return std::move(items_);
}

bool Lowering::is_f32(std::initializer_list<ValueId> ids) const {
  return std::all_of(ids.begin(), ids.end(), [&](ValueId id) { return id == kNone || types_[id] == DType::F32; });
}

void Lowering::give_row_sums(const RowSums& sums) {
  elements_[result()] = sums.elements();
  lay_out(0, dense(result(), {sums.elements()}));
  row_sums_.emplace(result(), sums);
}

const RowSums* Lowering::row_sums(ValueId id) const {
  const auto found = row_sums_.find(id);
  return found == row_sums_.end() ? nullptr : &found->second;
}

ValueId Lowering::temporary(DType dtype, int64_t elements) {
  const auto id = ValueId(layouts_.size());
  layouts_.push_back(dense(id, {elements}));
  types_.push_back(dtype);
  elements_.push_back(elements);
  return id;
}

void Lowering::add(PointProgram program) { items_.push_back({.point = std::move(program)}); }
void Lowering::add(Call call) {
  if (call.kernel->products() > 0 && call.why.empty()) call.why = why_;
  items_.push_back({.call = std::move(call)});
}

Layout Lowering::side_by_side(const Layout& layout, DType dtype) {
  if (layout.is_dense()) return layout;
  const ValueId copy = temporary(dtype, layout.count());
  PointProgram program = Lowering::program(layout.sizes);
  program.store(copy, dtype, program.load(layout, dtype));
  add(std::move(program));
  return dense(copy, layout.sizes);
}

void Lowering::leave(std::vector<Argument> key, std::vector<ValueId> roots) {
  left_.emplace_back(std::move(key), std::move(roots));
}

const std::vector<ValueId>* Lowering::left(const std::vector<Argument>& key) const {
  const auto found = std::find_if(left_.rbegin(), left_.rend(), [&](const auto& one) { return one.first == key; });
  return found == left_.rend() ? nullptr : &found->second;
}

Touched Lowering::touched(const Layout& layout, bool is_own) const { return {layout.root, is_own && is_apart(layout)}; }

namespace {

/// Whether `next` may run at the place of `before`, in one pass: it reads what that computes, and nothing that comes behind it.
bool joins(const Item& before, const PointProgram& next) {
  if (!before.point || before.point->sizes != next.sizes) return false;
  const PointProgram& own = *before.point;
  if (own.loads.size() + own.numbers.size() + own.steps.size() + next.loads.size() + next.numbers.size() +
          next.steps.size() + own.stores.size() + next.stores.size() >
      kMostPointOperands)
    return false;
  // What it reads of this one, it reads element by element.
  return std::all_of(next.loads.begin(), next.loads.end(), [&](const PointProgram::Load& load) {
    const bool is_of_it = std::any_of(own.stores.begin(), own.stores.end(),
                                      [&](const auto& store) { return store.root == load.layout.root; });
    return !is_of_it || load.layout == dense(load.layout.root, own.sizes);
  });
}

}  // namespace

void fuse(std::vector<Item>& items) {
  std::vector<Item> joined;
  std::map<ValueId, size_t> maker;  // where in `joined` a root is written
  size_t behind_node = 0;  // first place behind the last node of the reference, which may change what was given
  for (Item& item : items) {
    if (item.point) {
      size_t place = behind_node;
      bool has_maker = false;
      for (const auto& load : item.point->loads) {
        const auto made = maker.find(load.layout.root);
        if (made == maker.end() || made->second < place) continue;
        place = made->second;
        has_maker = true;
      }
      if (has_maker && joins(joined[place], *item.point)) {
        joined[place].point->append(*item.point);
        for (const auto& store : item.point->stores) maker[store.root] = place;
        continue;
      }
      for (const auto& store : item.point->stores) maker[store.root] = joined.size();
    }
    for (const Touched& written : item.call.writes) maker[written.root] = joined.size();
    joined.push_back(std::move(item));
    if (joined.back().node) behind_node = joined.size();
  }
  items = std::move(joined);
}

}  // namespace ltr::plan
