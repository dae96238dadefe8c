#include "dsl/elaborate/planned.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "dsl/elaborate/planned_phases.h"

namespace ltr::elaborate {

namespace {

using library::Cost;
using Split = PlannedCall::Split;

/// From the tape to calls, as `runtime/plan` lowers and fuses them: what is between two effects of the step at a time.
class CallMaker {
 public:
  CallMaker(const Plan& plan, const std::vector<std::string>& blocks)
      : plan_(plan), tape_(plan.tape), blocks_(blocks), value_of_(plan.tape.size(), kNoValue) {}

  PlannedStep run() {
    for (const Plan::Optimizer& optimizer : plan_.optimizers)
      trained_.insert(optimizer.weights.begin(), optimizer.weights.end());
    for (size_t i = 0; i < tape_.size(); ++i) owners_.push_back(owner_of(i));
    size_t pass = 0;
    for (size_t i = 0; i <= tape_.size(); ++i) {
      for (; pass < plan_.backwards.size() && plan_.backwards[pass].at <= i; ++pass) {
        close_stretch();
        go_back(plan_.backwards[pass]);
        close_stretch();
      }
      if (i == tape_.size()) break;
      compute(i);
    }
    close_stretch();
    step_.rehearsed = rehearsed();
    return std::move(step_);
  }

  std::vector<std::pair<size_t, size_t>> stretches;  ///< first call of each, and behind its last
  std::map<size_t, size_t> ends;                     ///< values that are read at the end of a stretch, by its number

 private:
  /// The entry whose memory it shows; none: of the batch or a weight.
  size_t owner_of(size_t i) const {
    if (!tape_[i].is_view) return i;
    return tape_[i].inputs.empty() ? kNoValue : owners_[size_t(tape_[i].inputs[0])];
  }
  double size_of(size_t i) const { return double(tape_[i].output_elements.value_or(0)); }
  Cost::Kind kind_of(size_t i) const { return library::info(tape_[i].function).cost.kind; }
  bool is_of_batch(size_t i) const { return library::info(tape_[i].function).is_of_batch; }
  bool gathers(size_t i) const { return kind_of(i) >= Cost::Kind::Convolution && kind_of(i) <= Cost::Kind::Lstm; }
  bool is_elements(size_t i) const { return kind_of(i) == Cost::Kind::Output && !tape_[i].is_product; }
  /// Its result are views of what its operands' gradients are, and the other way round.
  bool joins(size_t i) const { return kind_of(i) == Cost::Kind::Copy && tape_[i].inputs.size() > 1; }

  /// What lies in memory at one time while the step goes forward op by op: a result goes behind its last reader, unless the way back
  /// wants it.
  double rehearsed() const {
    std::vector<size_t> last(tape_.size());
    std::vector<bool> is_kept(tape_.size());
    for (size_t i = 0; i < tape_.size(); ++i) {
      const auto keep = [&](size_t owner) {
        if (owner != kNoValue) is_kept[owner] = true;
      };
      last[i] = i;
      if (tape_[i].keeps_result) keep(owners_[i]);
      for (const int32_t input : tape_[i].inputs) {
        const size_t owner = owners_[size_t(input)];
        if (owner != kNoValue) last[owner] = i;
        if (tape_[i].keeps_operands) keep(owner);
      }
    }
    std::vector<std::vector<size_t>> leaving(tape_.size());
    for (size_t i = 0; i < tape_.size(); ++i) {
      if (!tape_[i].is_view && !is_kept[i]) leaving[last[i]].push_back(i);
    }
    double live = 0, most = 0;
    for (size_t i = 0; i < tape_.size(); ++i) {
      if (!tape_[i].is_view) most = std::max(most, live += size_of(i) + tape_[i].keeps_elements);
      for (const size_t gone : leaving[i]) live -= size_of(gone);
    }
    return most;
  }

  size_t make_value(double numbers) {
    step_.values.push_back(numbers);
    return step_.values.size() - 1;
  }

  void read(PlannedCall& call, size_t value) const {
    if (value != kNoValue && std::find(call.reads.begin(), call.reads.end(), value) == call.reads.end())
      call.reads.push_back(value);
  }
  /// What it reads of the forward pass.
  void read_entry(PlannedCall& call, size_t i) const {
    if (const size_t owner = owners_[i]; owner != kNoValue) read(call, value_of_[owner]);
  }

  void close_stretch() {
    const size_t begin = stretches.empty() ? 0 : stretches.back().second;
    stretches.emplace_back(begin, step_.calls.size());
    makers_.clear();
  }

  /// Functions of elements go where what they read was made, if that are such functions, too.
  void add(PlannedCall call, double elements) {
    if (call.is_elements) {
      size_t place = 0;
      bool has_maker = false;
      for (const size_t value : call.reads) {
        const auto made = makers_.find(value);
        if (made == makers_.end() || made->second < place) continue;
        place = made->second;
        has_maker = true;
      }
      if (has_maker && step_.calls[place].is_elements && elements_[place] == elements) {
        PlannedCall& before = step_.calls[place];
        for (const size_t value : call.reads) read(before, value);
        for (const size_t value : call.writes) {
          before.writes.push_back(value);
          makers_[value] = place;
        }
        before.operations += call.operations;
        before.given += call.given;
        return;
      }
    }
    for (const size_t value : call.writes) makers_[value] = step_.calls.size();
    elements_.resize(step_.calls.size());
    elements_.push_back(elements);
    step_.calls.push_back(std::move(call));
  }

  PlannedCall reading(size_t i) const {
    const Operation& operation = tape_[i];
    PlannedCall call;
    double of_tape = 0;
    for (const int32_t input : operation.inputs) {
      read_entry(call, size_t(input));
      of_tape += size_of(size_t(input));
    }
    call.given = std::max(0.0, double(operation.input_elements.value_or(0)) - of_tape);
    // Of a table only the rows.
    if (kind_of(i) == Cost::Kind::Copy) call.given = std::min(call.given, size_of(i));
    return call;
  }

  void compute(size_t i) {
    const Operation& operation = tape_[i];
    if (operation.is_view) return;
    const size_t result = make_value(size_of(i));
    value_of_[i] = result;
    PlannedCall call = reading(i);
    call.is_elements = is_elements(i);
    const bool is_sum = kind_of(i) == Cost::Kind::Input && size_of(i) <= 1;
    if (is_of_batch(i) || is_sum) {
      PlannedCall sums = call;
      sums.is_elements = false;
      if (!is_sum) sums.split = Split::Shares;
      const size_t parts = make_value(is_sum ? double(plan_.batch.value_or(1)) : 0);
      sums.writes = {parts};
      sums.operations = operation.flops.value_or(0) / 2;
      add(std::move(sums), 0);
      if (is_sum) call = {.split = Split::Alone};
      read(call, parts);
    }
    (operation.is_product ? call.flops : call.operations) = is_sum ? 0 : worked(i, operation.flops.value_or(0));
    call.operations += turned(i);
    call.gathers = gathers(i);
    if (packs(i)) read(call, packed(i));
    call.writes = {result};
    if (kept_beside(i) > 0) {
      beside_[i] = make_value(kept_beside(i));
      call.writes.push_back(beside_[i]);
    }
    add(std::move(call), size_of(i));
  }

  /// What a recurrent layer keeps beside; other kernels compute it again.
  double kept_beside(size_t i) const {
    const Cost::Kind kind = kind_of(i);
    return kind == Cost::Kind::Recurrent || kind == Cost::Kind::Lstm ? tape_[i].keeps_elements : 0;
  }

  void go_back(const Backward& backward) {
    taking_part_.clear();
    parts_.clear();
    written_.clear();
    for (const auto& [index, flops] : backward.parts) taking_part_.insert(index);
    std::string block;
    for (const auto& [i, flops] : backward.parts) {
      if (tape_[i].is_view) continue;
      if (blocks_[i] != block) {
        block = blocks_[i];
        if (!block.empty()) compute_again(block);
      }
      go_back_through(i, flops);
    }
    for (const auto& [weight, value] : written_) ends[value] = stretches.size();
  }

  void compute_again(const std::string& block) {
    for (size_t i = 0; i < tape_.size(); ++i) {
      if (blocks_[i] == block && taking_part_.contains(i)) compute(i);
    }
  }

  /// The gradient of result `i`: what its readers gave, as one. None if that is the gradient to begin with.
  size_t gradient_of(size_t i) {
    const std::vector<std::pair<size_t, double>>& parts = parts_[i];
    if (parts.empty()) return kNoValue;
    double numbers = 0;
    for (const auto& [value, size] : parts) numbers += size;
    // One of its size needs nothing; parts lie side by side, and others are summed.
    if (parts.size() == 1 && numbers >= size_of(i)) return parts[0].first;
    PlannedCall call;
    call.is_elements = numbers > size_of(i);
    call.operations = numbers;
    for (const auto& [value, size] : parts) read(call, value);
    const size_t sum = make_value(size_of(i));
    call.writes = {sum};
    add(std::move(call), size_of(i));
    return sum;
  }

  void give(size_t owner, size_t value, double size) { parts_[owner].emplace_back(value, size); }

  void go_back_through(size_t i, double all_flops) {
    const Operation& operation = tape_[i];
    double flops = worked(i, all_flops);
    const size_t gradient = gradient_of(i);
    PlannedCall call;
    call.is_elements = is_elements(i);
    call.gathers = gathers(i);
    read(call, gradient);
    if (operation.keeps_operands) {
      for (const int32_t input : operation.inputs) read_entry(call, size_t(input));
    }
    if (operation.keeps_result) read(call, value_of_[i]);
    if (const auto beside = beside_.find(i); beside != beside_.end()) read(call, beside->second);
    std::vector<size_t> into;
    for (const int32_t input : operation.inputs) {
      const size_t owner = owners_[size_t(input)];
      if (owner != kNoValue && taking_part_.contains(owner)) into.push_back(size_t(input));
    }
    std::vector<WeightId> weights;
    for (const WeightId id : operation.weights) {
      if (trained_.contains(id)) weights.push_back(id);
    }
    // Of a recurrent layer first the gradients of what it kept, from all moments, and by them those of weights.
    const bool is_recurrent = kept_beside(i) > 0;
    if (is_recurrent) {
      PlannedCall moments = call;
      const size_t kept = make_value(kept_beside(i));
      moments.writes = {kept};
      moments.flops = flops / 4;
      add(std::move(moments), 0);
      std::erase(call.reads, gradient);
      std::erase(call.reads, beside_.at(i));
      read(call, kept);
      flops -= flops / 4;
    }
    const double share = flops / double(std::max<size_t>(into.size() + (weights.empty() ? 0 : 1), 1));
    if (!weights.empty()) {
      PlannedCall sums = call;
      sums.is_elements = false;
      sums.split = Split::Shares;
      (operation.is_product ? sums.flops : sums.operations) = share;
      sums.operations += turned(i);
      for (const WeightId id : weights) {
        if (written_.contains(id)) {
          read(sums, written_.at(id));
          continue;
        }
        written_[id] = make_value(gradient_numbers(i, id));
        if (counted_.insert(id).second) step_.gradients += gradient_numbers(i, id);
        sums.writes.push_back(written_[id]);
      }
      add(std::move(sums), 0);
    }
    if (into.empty()) return;
    // A sum, and what is read side by side, only shows its gradient in another form.
    const bool is_shown = joins(i) || (kind_of(i) == Cost::Kind::Input && !operation.keeps_operands);
    if (is_shown) {
      for (const size_t input : into) give(owners_[input], gradient, size_of(input));
      return;
    }
    if (is_of_batch(i)) {
      PlannedCall sums = call;
      sums.is_elements = false;
      sums.split = Split::Shares;
      const size_t of_batch = make_value(0);
      sums.writes = {of_batch};
      sums.operations = share / 2;
      add(std::move(sums), 0);
      read(call, of_batch);
    }
    (operation.is_product ? call.flops : call.operations) = flops - (weights.empty() ? 0 : share);
    call.operations += turned(i);
    for (const size_t input : into) {
      const size_t value = make_value(size_of(input));
      call.writes.push_back(value);
      give(owners_[input], value, size_of(input));
    }
    if (operation.is_product) call.given = weight_numbers(operation);
    if (packs(i)) read(call, packed(i));
    add(std::move(call), size_of(into[0]));
  }

  /// A convolution that takes 16 products for four sums of nine (`runtime/plan/cpu/lower/winograd.cpp`).
  struct Tiles {
    double channels = 0;  ///< that it reads and gives
    double places = 0;    ///< that it gives, of all images
    double count = 0;     ///< of all images, with those at the border between two; as many in a line as there are lines
  };
  std::optional<Tiles> tiles_of(size_t i) const {
    const Operation& operation = tape_[i];
    if (kind_of(i) != Cost::Kind::Convolution || operation.weights.empty() || operation.inputs.empty()) return {};
    const std::vector<Size>& dims = plan_.tree.weights[operation.weights[0]].dims;
    if (dims.size() != 4 || dims[2] != 3 || dims[3] != 3) return {};
    constexpr double kChannels = 16, kPlaces = 49;
    const double given = double(dims[0].value_or(1)), read = double(dims[1].value_or(1));
    const double images = double(plan_.batch.value_or(1));
    // With another stride than 1 it gives fewer places than it reads.
    const double places = size_of(i) / given / images, before = size_of(size_t(operation.inputs[0])) / read / images;
    if (given < kChannels || read < kChannels || places < kPlaces || places <= before / 2) return {};
    const double line = std::ceil(std::sqrt(places) / 2) + 1;
    return Tiles{read + given, places * images, line * line * images};
  }
  bool goes_by_tiles(size_t i) const { return tiles_of(i).has_value(); }
  double worked(size_t i, double flops) const {
    const std::optional<Tiles> tiles = tiles_of(i);
    return tiles ? flops * 16 * tiles->count / (9 * tiles->places) : flops;
  }
  /// Numbers of tiles that are made of what is read, and of which is made what is given.
  double turned(size_t i) const {
    const std::optional<Tiles> tiles = tiles_of(i);
    return tiles ? 16 * tiles->count * tiles->channels : 0;
  }

  /// Whether weights are brought into panels once for all threads: of convolutions, and of layers with few rows
  /// (`runtime/plan/cpu/lower/product.cpp`).
  bool packs(size_t i) const {
    constexpr double kManyRows = 256;
    const Operation& operation = tape_[i];
    if (operation.is_reordered) return !operation.weights.empty();
    if (kind_of(i) != Cost::Kind::Linear || operation.weights.empty()) return false;
    const std::vector<Size>& dims = plan_.tree.weights[operation.weights[0]].dims;
    const double columns = dims.empty() ? 0 : double(dims[0].value_or(0));
    return columns > 0 && size_of(i) / columns < kManyRows;
  }
  size_t packed(size_t i) {
    PlannedCall call{.split = Split::Shares, .given = weight_numbers(tape_[i])};
    const size_t panels = make_value(call.given * (goes_by_tiles(i) ? 16.0 / 9 : 1));
    call.writes = {panels};
    add(std::move(call), 0);
    return panels;
  }

  double weight_numbers(const Operation& operation) const {
    double numbers = 0;
    for (const WeightId id : operation.weights)
      numbers += double(count_elements(plan_.tree.weights[id].dims).value_or(0));
    return numbers;
  }
  double gradient_numbers(size_t i, WeightId id) const {
    const double numbers = double(count_elements(plan_.tree.weights[id].dims).value_or(0));
    // Of a table whose optimizer moves nothing without a gradient, the rows that were read.
    return kind_of(i) == Cost::Kind::Copy && rests(id) ? std::min(numbers, size_of(i)) : numbers;
  }
  bool rests(WeightId id) const {
    return std::any_of(plan_.optimizers.begin(), plan_.optimizers.end(), [&](const Plan::Optimizer& optimizer) {
      const bool has = std::find(optimizer.weights.begin(), optimizer.weights.end(), id) != optimizer.weights.end();
      const auto is_zero = [&](const char* argument) {
        const Value* value = optimizer.rule.find(argument);
        return value == nullptr || (value->is_number() && value->number() == 0);
      };
      const bool is_sgd = library::find(library::Space::Settings, optimizer.rule.text) == library::Id::SGD;
      return has && is_sgd && is_zero("momentum") && is_zero("weight_decay");
    });
  }

  const Plan& plan_;
  const std::vector<Operation>& tape_;
  const std::vector<std::string>& blocks_;
  std::vector<size_t> owners_;
  std::vector<size_t> value_of_;     ///< of each entry, as it was computed last
  std::map<size_t, size_t> beside_;  ///< of entries, what they keep of their own
  std::map<size_t, size_t> makers_;  ///< of values of this stretch: the call
  std::vector<double> elements_;     ///< of calls of functions of elements
  std::set<WeightId> trained_, counted_;
  std::set<size_t> taking_part_;
  std::map<size_t, std::vector<std::pair<size_t, double>>> parts_;  ///< of the gradient of an entry
  std::map<WeightId, size_t> written_;                              ///< gradients of this pass
  PlannedStep step_;
};

/// What nobody else reads stays in registers: asked from the end.
void keep_what_is_read(PlannedStep& step, const std::map<size_t, size_t>& ends) {
  std::vector<bool> is_read(step.values.size());
  for (const auto& [value, stretch] : ends) is_read[value] = true;
  for (size_t at = step.calls.size(); at-- > 0;) {
    PlannedCall& call = step.calls[at];
    const auto is_own = [&](size_t value) {
      return std::find(call.writes.begin(), call.writes.end(), value) != call.writes.end();
    };
    std::erase_if(call.reads, is_own);
    if (call.is_elements) std::erase_if(call.writes, [&](size_t value) { return !is_read[value]; });
    for (const size_t value : call.reads) is_read[value] = true;
  }
}

}  // namespace

PlannedStep plan_step(const Plan& plan, const std::vector<std::string>& blocks) {
  CallMaker maker(plan, blocks);
  PlannedStep step = maker.run();
  keep_what_is_read(step, maker.ends);
  std::vector<size_t> last_phases;
  size_t phase = 0;
  for (const auto& [begin, end] : maker.stretches) {
    phase = schedule(step, begin, end, phase);
    last_phases.push_back(phase == 0 ? 0 : phase - 1);
  }
  step.phases = phase;
  step.peak = peak_of(step, maker.ends, last_phases);
  return step;
}

}  // namespace ltr::elaborate
