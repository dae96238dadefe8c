#include "runtime/train/division.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "runtime/tensor/handle.h"
#include "runtime/train/divided_sum.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace {

/// A tensor of that shape whose memory nobody may read: it has none.
at::Tensor without_memory(const at::Tensor& weight) {
  at::Tensor shape = at::empty({0}, weight.options().requires_grad(false));
  shape.storage().unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      "a weight was read that is divided among ranks");
  shape.unsafeGetTensorImpl()->set_sizes_contiguous(weight.sizes());
  return shape;
}

}  // namespace

Division::Division(const DivisionPlan& plan, RootState& root, const Ranks& ranks, const GradientTravel& travel)
    : plan_(plan), travel_(travel), holders_(&ranks), rank_(ranks.rank()), world_(ranks.world()) {
  if (plan.replicas > 1) form_groups(ranks);
  if (divides_weights()) {
    divide_by_block(root);
    whole_units_ = std::make_unique<WholeUnits>(*holders_, units_);
    reading_ = std::make_unique<GatheredScope>(*this);
  } else {
    const int64_t bytes = travel.bucket_bytes > 0 ? travel.bucket_bytes : GradientTravel().bucket_bytes;
    for (const auto& optimizer : root.optimizers) divide_by_size(*optimizer, bytes);
  }
}

Division::~Division() = default;

void Division::form_groups(const Ranks& ranks) {
  const int64_t size = ranks.world() / plan_.replicas;
  std::vector<int64_t> holders, peers;
  for (int64_t rank = 0; rank < ranks.world(); rank++) {
    if (rank / size == ranks.rank() / size) holders.push_back(rank);
    if (rank % size == ranks.rank() % size) peers.push_back(rank);
  }
  own_holders_ = ranks.among(holders);
  peers_ = ranks.among(peers);
  holders_ = own_holders_.get();
}

namespace {

/// What all weights of a unit have in common: the block that they are gathered with, the optimizer that moves them, their type,
/// and whether its rule looks at all of a weight.
using Kind = std::tuple<Str, size_t, at::ScalarType, bool>;

/// The instance of `block` in which `path` lies, the outermost of several; "" if in none.
Str instance_of(const RootState& root, const Str& block, const Str& path) {
  for (const ScopeState& scope : root.scopes) {
    if (scope.kind == block && path.starts_with(scope.path + ".")) return scope.path;
  }
  return "";
}

}  // namespace

/// One unit for each instance of the block, and one for the rest, which is gathered at either end of a pass.
void Division::divide_by_block(const RootState& root) {
  const auto mover_of = [&](const Tensor& weight) {
    size_t mover = 0;
    const auto has = [&](const Weight& one) { return one.tensor.impl() == weight.impl(); };
    while (mover < root.optimizers.size() && !std::ranges::any_of(root.optimizers[mover]->weights(), has)) mover++;
    return mover;
  };
  std::map<Kind, std::vector<at::Tensor>> units;
  std::vector<Kind> order;
  for (const Entry& entry : root.entries) {
    if (!entry.is_weight) continue;
    const at::Tensor weight = aten(entry.tensor);
    const size_t mover = mover_of(entry.tensor);
    const bool is_whole =
        mover < root.optimizers.size() && root.optimizers[mover]->moves_of(weight) == optim::Moves::whole;
    const Kind kind(instance_of(root, plan_.block, entry.path), mover, weight.scalar_type(), is_whole);
    if (!units.contains(kind)) order.push_back(kind);
    units[kind].push_back(weight);
  }
  // In the order in which gradients come: the last block first, and the rest at the end.
  std::ranges::reverse(order);
  std::ranges::stable_partition(order, [](const Kind& kind) { return !std::get<Str>(kind).empty(); });
  for (const Kind& kind : order) {
    const size_t mover = std::get<size_t>(kind);
    add_unit(std::move(units[kind]), std::get<bool>(kind),
             mover < root.optimizers.size() ? root.optimizers[mover].get() : nullptr);
  }
}

/// Weights whose gradients come one after the other are together, until they are `bytes`.
void Division::divide_by_size(const Optimizer& optimizer, int64_t bytes) {
  // Of one unit all are of one type, and all are cut or none is.
  std::map<std::pair<at::ScalarType, bool>, std::vector<at::Tensor>> open;
  std::map<std::pair<at::ScalarType, bool>, int64_t> filled;
  // Backward they come in the order opposite to that of the layers.
  for (size_t i = optimizer.weights().size(); i-- > 0;) {
    const at::Tensor weight = aten(optimizer.weights()[i].tensor);
    if (find(weight) != nullptr) continue;
    const std::pair kind(weight.scalar_type(), optimizer.moves_of(weight) == optim::Moves::whole);
    open[kind].push_back(weight);
    filled[kind] += int64_t(weight.nbytes());
    if (filled[kind] < bytes) continue;
    add_unit(std::exchange(open[kind], {}), kind.second, &optimizer);
    filled[kind] = 0;
  }
  for (auto& [kind, weights] : open) {
    if (!weights.empty()) add_unit(std::move(weights), kind.second, &optimizer);
  }
}

void Division::add_unit(std::vector<at::Tensor> weights, bool keeps_whole, const Optimizer* optimizer) {
  const NoGrad no_grad;
  auto divided =
      std::make_unique<DividedUnit>(DividedUnit{Unit(std::move(weights), keeps_whole, holders_->world()), optimizer});
  const Unit& unit = divided->unit;
  const at::Tensor row = at::zeros({unit.size()}, unit.options());
  divided->chunk = row.narrow(0, holders_->rank() * unit.chunk(), unit.chunk());
  for (size_t i = 0; i < unit.weights().size(); i++) {
    const at::Tensor& weight = unit.weights()[i];
    const at::Tensor in_row = unit.in_row(row, i);
    in_row.copy_(weight);
    weight.set_data(divides_weights() ? without_memory(weight) : in_row);
  }
  if (divides_weights()) {
    divided->chunk = divided->chunk.clone();
  } else {
    divided->whole = row;
  }
  for (size_t i = 0; i < unit.weights().size(); i++) {
    places_.emplace(unit.weights()[i].unsafeGetTensorImpl(),
                    Place{units_.size(), i, {unit.in_chunk(divided->chunk, i, holders_->rank()), {}, false}});
  }
  units_.push_back(std::move(divided));
}

Division::Part* Division::find(const at::Tensor& weight) {
  const auto found = places_.find(weight.unsafeGetTensorImpl());
  return found == places_.end() ? nullptr : &found->second.part;
}

void Division::forget_gradient(const at::Tensor& weight) {
  if (Part* part = find(weight)) {
    part->gradient = at::Tensor();
    part->has_gradient = false;
  }
}

// ---- parts and wholes ----------------------------------------------------------------------------------------

at::Tensor Division::whole(const at::Tensor& weight) {
  if (!divides_weights()) return weight;
  const Place& at = place(weight);
  const at::Tensor in_row = units_[at.unit]->unit.in_row(row(at.unit), at.member);
  // No view, as autograd sees it: its gradient goes another way.
  return at::empty({0}, in_row.options())
      .set_(in_row.storage(), in_row.storage_offset(), in_row.sizes(), in_row.strides());
}

void Division::assign(const at::Tensor& weight, const at::Tensor& values) {
  if (!divides_weights()) {
    weight.copy_(values);
    return;
  }
  const Place& at = place(weight);
  if (at.part.values.defined()) at.part.values.copy_(cut(weight, values));
  units_[at.unit]->moves++;
  whole_units_->forget();
}

Option<size_t> Division::unit_with(const at::Tensor& tensor) const {
  const size_t unit = whole_units_->find(tensor);
  return unit < units_.size() ? Option<size_t>(unit) : std::nullopt;
}

at::Tensor Division::cut(const at::Tensor& weight, const at::Tensor& whole) const {
  const Place& at = place(weight);
  const Stretch own = units_[at.unit]->unit.stretch(at.member, holders_->rank());
  if (own.size() == 0) return {};
  return own.size() == weight.numel() ? whole : whole.flatten().narrow(0, own.begin, own.size());
}

at::Tensor Division::join(const at::Tensor& weight, const at::Tensor& own, const at::Tensor& like) const {
  const at::TensorOptions options = weight.options().dtype(like.scalar_type()).requires_grad(false);
  if (like.numel() == 0) return at::empty(like.sizes(), options);
  const Place& at = place(weight);
  std::vector<int64_t> sizes;
  for (int64_t rank = 0; rank < holders_->world(); rank++)
    sizes.push_back(units_[at.unit]->unit.stretch(at.member, rank).size());
  const bool is_cut = like.numel() == weight.numel();
  const int64_t slot = is_cut ? *std::max_element(sizes.begin(), sizes.end()) : like.numel();
  const at::Tensor mine = at::zeros({slot}, options), all = at::empty({slot * holders_->world()}, options);
  if (own.defined()) mine.narrow(0, 0, own.numel()).copy_(own.flatten());
  holders_->begin_gather(all, mine)->wait();
  std::vector<at::Tensor> parts;
  for (size_t rank = 0; rank < sizes.size(); rank++) {
    if (sizes[rank] == 0) continue;
    parts.push_back(all.narrow(0, int64_t(rank) * slot, is_cut ? sizes[rank] : slot));
    if (!is_cut) break;
  }
  return at::cat(parts).view(like.sizes());
}

Slice Division::slice_of(const at::Tensor& weight, const at::Tensor& like) const {
  const Place& at = place(weight);
  const Unit& unit = units_[at.unit]->unit;
  const int64_t rank = holders_->rank();
  const Stretch own = unit.stretch(at.member, rank);
  const bool is_cut = like.numel() == weight.numel(), has_some = own.size() > 0;
  // Several groups hold the same, as do all ranks with a part where nothing is cut: the first writes.
  bool is_written = has_some && rank == rank_;
  for (int64_t before = 0; before < rank && !is_cut; before++)
    is_written = is_written && unit.stretch(at.member, before).size() == 0;
  const Stretch here = is_cut ? own : Stretch{0, has_some ? like.numel() : 0};
  return {here.begin, here.end, like.sizes().vec(), like.scalar_type(), is_written};
}

bool Division::writes(const at::Tensor& weight) const {
  return divides_weights() ? int64_t(place(weight).unit) % world_ == rank_ : rank_ == 0;
}

Division::Held Division::held() const {
  Held held;
  struct Elements {
    int64_t here = 0, all = 0;
  };
  std::map<const Optimizer*, Elements> elements;
  for (const auto& one : units_) {
    if (one->optimizer == nullptr) continue;
    const auto chunk = double(one->chunk.nbytes());
    if (one->whole.defined()) held.weights += double(one->whole.nbytes());
    if (divides_weights()) held.weights += chunk;
    // Without a wait between them all units may be on their way at once.
    held.gradients += plan_.what == Divides::States ? double(one->whole.nbytes()) : chunk;
    Elements& of = elements[one->optimizer];
    for (size_t i = 0; i < one->unit.weights().size(); i++) {
      of.here += one->unit.stretch(i, holders_->rank()).size();
      of.all += one->unit.weights()[i].numel();
    }
  }
  for (const auto& [optimizer, of] : elements)
    held.states += optimizer->describe().state_bytes * double(of.here) / double(std::max<int64_t>(of.all, 1));
  return held;
}

// ---- updates -------------------------------------------------------------------------------------------------

std::unique_ptr<GradientSum> Division::sum_gradients(const Optimizer& optimizer) {
  std::vector<size_t> units;
  for (size_t i = 0; i < units_.size(); i++) {
    if (units_[i]->optimizer == &optimizer) units.push_back(i);
  }
  return std::make_unique<DividedSum>(*this, std::move(units));
}

void Division::moved(const Optimizer& optimizer) {
  std::vector<DividedUnit*> units;
  for (const auto& one : units_) {
    const bool has_moved =
        std::ranges::any_of(one->unit.weights(), [&](const at::Tensor& weight) { return part(weight).has_gradient; });
    if (one->optimizer == &optimizer && has_moved) units.push_back(one.get());
  }
  for (DividedUnit* one : units) {
    for (const at::Tensor& weight : one->unit.weights()) forget_gradient(weight);
  }
  gather(units);
}

void Division::all_moved() {
  std::vector<DividedUnit*> units;
  for (const auto& one : units_) units.push_back(one.get());
  gather(units);
}

void Division::gather(const std::vector<DividedUnit*>& units) {
  if (divides_weights()) {
    whole_units_->forget();
  } else {
    std::vector<std::unique_ptr<PendingTensors>> pending;
    for (DividedUnit* one : units) pending.push_back(holders_->begin_gather(one->whole, one->chunk));
    for (const auto& one : pending) one->wait();
  }
  for (DividedUnit* one : units) {
    one->moves++;
    // As after any op in place: a graph that saved a weight must notice.
    for (const at::Tensor& weight : one->unit.weights()) weight.unsafeGetTensorImpl()->bump_version();
  }
}

}  // namespace ltr
