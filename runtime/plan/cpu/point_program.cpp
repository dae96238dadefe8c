#include "runtime/plan/cpu/point_program.h"

#include <c10/util/SmallVector.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/plan/cpu/draws.h"

namespace ltr::plan {

using kernels::Point;
using Ref = PointProgram::Ref;
using Source = PointProgram::Source;

Ref PointProgram::load(Layout layout, DType dtype) {
  Load one{expanded(layout, sizes), dtype};
  const auto known = std::find(loads.begin(), loads.end(), one);
  if (known != loads.end()) return {Source::Load, uint32_t(known - loads.begin())};
  loads.push_back(std::move(one));
  return {Source::Load, uint32_t(loads.size() - 1)};
}

Ref PointProgram::number(double value) {
  numbers.push_back(float(value));
  return {Source::Number, uint32_t(numbers.size() - 1)};
}

Ref PointProgram::step(Point op, Ref a, Ref b, Ref c) {
  steps.push_back({op, {a, b, c}, {}});
  return {Source::Step, uint32_t(steps.size() - 1)};
}

void PointProgram::store(ValueId root, DType dtype, Ref value) {
  if (value.source != Source::Step) value = step(Point::copy, value);
  stores.push_back({root, dtype, value.at});
}

void PointProgram::append(const PointProgram& next) {
  std::vector<Ref> of_loads;
  for (const Load& one : next.loads) {
    const auto made = std::find_if(stores.begin(), stores.end(), [&](const Store& store) {
      return store.root == one.layout.root && one.layout == dense(store.root, sizes);
    });
    of_loads.push_back(made != stores.end() ? Ref{Source::Step, made->step} : load(one.layout, one.dtype));
  }
  const auto base = uint32_t(steps.size()), first_number = uint32_t(numbers.size());
  numbers.insert(numbers.end(), next.numbers.begin(), next.numbers.end());
  for (Step one : next.steps) {
    for (Ref& operand : one.operands) {
      if (operand.source == Source::Load)
        operand = of_loads[operand.at];
      else if (operand.source == Source::Step)
        operand.at += base;
      else if (operand.source == Source::Number)
        operand.at += first_number;
    }
    steps.push_back(one);
  }
  for (Store one : next.stores) {
    one.step += base;
    stores.push_back(one);
  }
}

void PointProgram::keep_stores(const std::vector<bool>& is_read) {
  std::erase_if(stores, [&](const Store& store) { return !is_read[store.root]; });
  join_steps();
  std::vector<bool> is_used(steps.size()), is_loaded(loads.size()), is_read_number(numbers.size());
  for (const Store& store : stores) is_used[store.step] = true;
  for (size_t at = steps.size(); at-- > 0;) {
    if (!is_used[at]) continue;
    for (const Ref& operand : steps[at].operands) {
      if (operand.source == Source::Step) is_used[operand.at] = true;
      if (operand.source == Source::Load) is_loaded[operand.at] = true;
      if (operand.source == Source::Number) is_read_number[operand.at] = true;
    }
  }
  const auto packed = [](auto& list, const std::vector<bool>& is_kept) {
    std::vector<uint32_t> place(list.size());
    uint32_t next = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      place[i] = next;
      if (!is_kept[i]) continue;
      list[next] = list[i];
      ++next;
    }
    list.resize(next);
    return place;
  };
  const std::vector<uint32_t> step_places = packed(steps, is_used), load_places = packed(loads, is_loaded),
                              number_places = packed(numbers, is_read_number);
  for (Step& one : steps) {
    for (Ref& operand : one.operands) {
      if (operand.source == Source::Step) operand.at = step_places[operand.at];
      if (operand.source == Source::Load) operand.at = load_places[operand.at];
      if (operand.source == Source::Number) operand.at = number_places[operand.at];
    }
  }
  for (Store& store : stores) store.step = step_places[store.step];
}

void PointProgram::join_steps() {
  const auto is_zero = [&](const Ref& ref) {
    return ref.source == Source::Number && numbers[ref.at] == 0 && !std::signbit(numbers[ref.at]);
  };
  for (Step& one : steps) {
    if (one.draw || one.op != Point::choose || one.operands[0].source != Source::Step || !is_zero(one.operands[2]))
      continue;
    const Step& condition = steps[one.operands[0].at];
    if (condition.draw || condition.op != Point::gt || !is_zero(condition.operands[1])) continue;
    one = {Point::where_positive, {condition.operands[0], one.operands[1], {}}, {}};
  }
}

std::vector<std::pair<ValueId, ValueId>> PointProgram::in_place(const std::vector<int64_t>& elements) const {
  std::vector<std::pair<ValueId, ValueId>> found;
  for (size_t i = 0; i < loads.size(); ++i) {
    const Layout& layout = loads[i].layout;
    const auto is_of_root = [&](const Load& load) { return load.layout.root == layout.root; };
    const bool is_whole = layout == dense(layout.root, sizes) && elements[layout.root] == layout.count();
    if (!is_whole || loads[i].dtype != DType::F32 || std::ranges::count_if(loads, is_of_root) > 1) continue;
    size_t last = 0;
    for (size_t at = 0; at < steps.size(); ++at) {
      const auto is_it = [&](const Ref& operand) { return operand == Ref{Source::Load, uint32_t(i)}; };
      if (std::ranges::any_of(steps[at].operands, is_it)) last = at;
    }
    for (const Store& store : stores) {
      if (store.dtype == DType::F32 && store.step >= last) found.emplace_back(layout.root, store.root);
    }
  }
  return found;
}

namespace {

/// Elements of a run: what a program works on stays in the nearest cache. Where nothing lies between loads and stores, a run is long.
constexpr int64_t kRun = 256, kLongRun = 4096;

/// Sizes and, for each of `strides`, strides with axes joined wherever all of them lie evenly.
void join_axes(Ints& sizes, std::vector<Ints>& strides) {
  Ints joined;
  std::vector<Ints> of(strides.size());
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 1) continue;
    const auto follows = [&](size_t i) { return of[i].back() == strides[i][axis] * sizes[axis]; };
    bool joins = !joined.empty();
    for (size_t i = 0; joins && i < strides.size(); ++i) joins = follows(i);
    if (joins) {
      joined.back() *= sizes[axis];
      for (size_t i = 0; i < strides.size(); ++i) of[i].back() = strides[i][axis];
    } else {
      joined.push_back(sizes[axis]);
      for (size_t i = 0; i < strides.size(); ++i) of[i].push_back(strides[i][axis]);
    }
  }
  if (joined.empty()) {
    joined.push_back(1);
    for (Ints& list : of) list.push_back(0);
  }
  sizes = std::move(joined);
  strides = std::move(of);
}

class PointCall : public Kernel {
 public:
  explicit PointCall(const PointProgram& program) : program_(program), sizes_(program.sizes) {
    for (const auto& load : program.loads) strides_.push_back(load.layout.strides);
    for (size_t i = 0; i < program.stores.size(); ++i) strides_.push_back(dense(0, program.sizes).strides);
    join_axes(sizes_, strides_);
    lengthen_rows();
    assign();
  }

  void run(Memory memory, const Part& part) const override {
    const auto [begin, end] = splits_samples ? part.of(sizes_[0])
                              : alone        ? std::pair<int64_t, int64_t>(0, sizes_[0])
                                             : part.share(sizes_[0]);
    if (begin == end || count_ == 0) return;
    Run run(*this, memory, part);
    if (sizes_.size() == 1) {
      run.place(begin, {});
      return run.row(end - begin, begin);
    }
    // Rows are counted by the axes in front of the last one.
    Index index(sizes_.size() - 1, 0);
    index[0] = begin;
    const int64_t width = sizes_.back();
    int64_t rows = end - begin, behind = 1;
    for (size_t axis = 1; axis < index.size(); ++axis) behind *= sizes_[axis];
    int64_t element = begin * behind * width;
    for (int64_t row = 0; row < rows * behind; ++row, element += width) {
      run.place(0, index);
      run.row(width, element);
      for (size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < sizes_[axis] || axis == 0) break;
        index[axis] = 0;
      }
    }
  }

  int64_t scratch_bytes() const override {
    return (registers_ * kRun + kRun + 128 + int64_t(spread_.size()) * spread_count_) * 4;
  }

  Str text() const override {
    Str names;
    for (const auto& step : program_.steps) {
      static constexpr const char* kNames[] = {
#define LTR_POINT(name, value) #name,
#define LTR_POINT_EACH(name, value) #name,
#include "runtime/kernels/pointwise.def"
      };
      names += fmt::format("{}{}", names.empty() ? "" : " ", step.draw ? "dropout" : kNames[size_t(step.op)]);
    }
    return fmt::format("[{}] {}", fmt::join(program_.sizes, ", "), names);
  }

  std::vector<std::pair<ValueId, ValueId>> in_place() const override { return over; }

  bool splits_samples = false, alone = false;
  std::vector<std::pair<ValueId, ValueId>> over;

 private:
  /// A place in the axes in front of the last one. Few have more axes, and a run takes no memory.
  using Index = c10::SmallVector<int64_t, 8>;

  /// A load of one number for each short row, the same for all samples, as a number for each element of a sample.
  struct Spread {
    size_t load;
    Ints sizes, strides;  ///< behind the samples

    void fill(const float* from, float* to) const {
      const int64_t width = sizes.back();
      Index index(sizes.size(), 0);
      for (int64_t row = 0, rows = c10::multiply_integers(sizes) / width; row < rows; ++row, to += width) {
        int64_t at = 0;
        for (size_t axis = 0; axis < sizes.size(); ++axis) at += index[axis] * strides[axis];
        std::fill_n(to, width, from[at]);
        for (size_t axis = sizes.size() - 1; axis-- > 0;) {
          if (++index[axis] < sizes[axis]) break;
          index[axis] = 0;
        }
      }
    }
  };

  /// Channels of small images are short rows, which cost more to begin than to go along.
  void lengthen_rows() {
    constexpr int64_t kShort = 128, kMostSpread = 1 << 14, kFewestSamples = 4;
    if (sizes_.size() < 3 || sizes_.back() >= kShort || sizes_[0] < kFewestSamples) return;
    const Ints inner(sizes_.begin() + 1, sizes_.end());
    const Layout row = dense(0, inner);
    if (row.count() > kMostSpread) return;
    std::vector<Spread> found;
    for (size_t i = 0; i < program_.loads.size(); ++i) {
      const Ints strides(strides_[i].begin() + 1, strides_[i].end());
      if (strides == row.strides) continue;
      if (strides_[i][0] != 0 || strides.back() != 0 || program_.loads[i].dtype != DType::F32) return;
      found.push_back({i, inner, strides});
    }
    for (const Spread& one : found) std::ranges::copy(row.strides, strides_[one.load].begin() + 1);
    spread_ = std::move(found);
    spread_count_ = row.count();
    join_axes(sizes_, strides_);
  }

  /// Gives loads, numbers and steps their operands: first registers, then numbers, then pointers into memory.
  void assign() {
    const size_t steps = program_.steps.size();
    std::vector<size_t> last(steps, 0);
    std::vector<size_t> last_load(program_.loads.size(), 0);
    for (size_t at = 0; at < steps; ++at) {
      for (const Ref& operand : program_.steps[at].operands) {
        if (operand.source == Source::Step) last[operand.at] = at;
        if (operand.source == Source::Load) last_load[operand.at] = at;
      }
    }
    // Loads that no step can read in place take a register each; so does what is one number a row.
    for (size_t i = 0; i < program_.loads.size(); ++i) {
      const bool is_direct = program_.loads[i].dtype == DType::F32 && strides_[i].back() == 1;
      load_register_.push_back(is_direct ? -1 : registers_++);
    }
    std::vector<int64_t> free, place(steps);
    for (size_t at = 0; at < steps; ++at) {
      for (size_t before = 0; before < at; ++before) {
        if (last[before] + 1 == at && place[before] >= 0) free.push_back(place[before]);
      }
      const auto store = std::find_if(program_.stores.begin(), program_.stores.end(),
                                      [&](const auto& one) { return one.step == at && one.dtype == DType::F32; });
      if (store != program_.stores.end()) {
        place[at] = -1 - (store - program_.stores.begin());
        continue;
      }
      if (free.empty()) free.push_back(registers_++);
      place[at] = free.back();
      free.pop_back();
      // What is stored as bytes is read once more behind the steps.
      const bool is_stored =
          std::any_of(program_.stores.begin(), program_.stores.end(), [&](const auto& one) { return one.step == at; });
      if (is_stored || last[at] == 0) last[at] = steps;
    }
    const bool draws = std::ranges::any_of(program_.steps, [](const auto& step) { return bool(step.draw); });
    if (registers_ == 0 && program_.numbers.empty() && !draws) run_ = kLongRun;
    first_number_ = registers_;
    first_load_ = first_number_ + int64_t(program_.numbers.size());
    first_store_ = first_load_ + int64_t(program_.loads.size());
    count_ = 1;
    for (const int64_t size : sizes_) count_ *= size;
    const auto operand_of = [&](const Ref& ref) -> uint16_t {
      switch (ref.source) {
        case Source::Load: return uint16_t(load_register_[ref.at] >= 0 ? load_register_[ref.at] : first_load_ + ref.at);
        case Source::Number: return uint16_t(first_number_ + ref.at);
        case Source::Step: return uint16_t(place[ref.at] >= 0 ? place[ref.at] : first_store_ - 1 - place[ref.at]);
        default: return 0;
      }
    };
    for (size_t at = 0; at < steps; ++at) {
      const auto& step = program_.steps[at];
      kernels::PointStep one{step.op, operand_of({Source::Step, uint32_t(at)}), operand_of(step.operands[0]), 0, 0};
      one.b = step.operands[1].source == Source::None ? one.a : operand_of(step.operands[1]);
      one.c = step.operands[2].source == Source::None ? one.a : operand_of(step.operands[2]);
      steps_.push_back(one);
    }
    for (const auto& store : program_.stores) store_from_.push_back(operand_of({Source::Step, store.step}));
    numbers_.resize(program_.numbers.size() * kRun);
    for (size_t i = 0; i < program_.numbers.size(); ++i)
      std::fill_n(numbers_.begin() + ptrdiff_t(i) * kRun, kRun, program_.numbers[i]);
  }

  /// One thread's way through the program.
  class Run {
   public:
    Run(const PointCall& call, Memory memory, const Part& part)
        : call_(call), memory_(memory), part_(part), registers_(reinterpret_cast<float*>(part.scratch)) {
      for (int64_t i = 0; i < call.registers_; ++i) operands_[i] = registers_ + i * kRun;
      for (size_t i = 0; i < call.program_.numbers.size(); ++i)
        operands_[size_t(call.first_number_) + i] = const_cast<float*>(call.numbers_.data() + i * kRun);
      for (size_t i = 0; i < call.program_.loads.size(); ++i) {
        const auto& load = call.program_.loads[i];
        if (load.dtype == DType::F32)
          bases_[i] = reinterpret_cast<float*>(memory[load.layout.root]) + load.layout.offset;
      }
      float* to = registers_ + call.registers_ * kRun + kRun + 128;
      for (const Spread& spread : call.spread_) {
        spread.fill(bases_[spread.load], to);
        bases_[spread.load] = std::exchange(to, to + call.spread_count_);
      }
    }

    /// The row begins at `index`, and at element `along` of the last axis.
    void place(int64_t along, const Index& index) {
      for (size_t i = 0; i < call_.strides_.size(); ++i) {
        const Ints& strides = call_.strides_[i];
        int64_t at = along * strides.back();
        for (size_t axis = 0; axis < index.size(); ++axis) at += index[axis] * strides[axis];
        at_[i] = at;
      }
    }

    void row(int64_t width, int64_t element) {
      const auto& program = call_.program_;
      const auto& kernel = kernels::point_kernel();
      for (size_t i = 0; i < program.loads.size(); ++i) {
        if (call_.load_register_[i] >= 0 && call_.strides_[i].back() == 0) fetch(i, std::min(width, kRun), 0);
      }
      for (int64_t done = 0; done < width; done += call_.run_) {
        const int64_t n = std::min(call_.run_, width - done);
        for (size_t i = 0; i < program.loads.size(); ++i) {
          if (call_.load_register_[i] < 0) {
            operands_[size_t(call_.first_load_) + i] = bases_[i] + at_[i] + done;
          } else if (call_.strides_[i].back() != 0) {
            fetch(i, n, done);
          }
        }
        for (size_t i = 0; i < program.stores.size(); ++i) {
          if (program.stores[i].dtype != DType::F32) continue;
          operands_[size_t(call_.first_store_) + i] =
              reinterpret_cast<float*>(memory_[program.stores[i].root]) + at_[program.loads.size() + i] + done;
        }
        steps(n, element + done);
        for (size_t i = 0; i < program.stores.size(); ++i) {
          const auto& store = program.stores[i];
          const int64_t at = at_[program.loads.size() + i] + done;
          if (store.dtype == DType::Bool)
            kernel.to_bytes(operands_[call_.store_from_[i]], reinterpret_cast<uint8_t*>(memory_[store.root]) + at, n);
          else if (operands_[call_.store_from_[i]] != operands_[size_t(call_.first_store_) + i])
            std::copy_n(operands_[call_.store_from_[i]], n, operands_[size_t(call_.first_store_) + i]);
        }
      }
    }

   private:
    void fetch(size_t load, int64_t n, int64_t done) {
      const auto& one = call_.program_.loads[load];
      const auto& kernel = kernels::point_kernel();
      float* const to = operands_[call_.load_register_[load]];
      const char* const memory = memory_[one.layout.root];
      const int64_t stride = call_.strides_[load].back();
      const int64_t at = at_[load] + one.layout.offset + done * stride;
      const auto number = [&](int64_t i) {
        switch (one.dtype) {
          case DType::F32: return reinterpret_cast<const float*>(memory)[i];
          case DType::I64: return float(reinterpret_cast<const int64_t*>(memory)[i]);
          default: return float(reinterpret_cast<const uint8_t*>(memory)[i]);
        }
      };
      if (stride == 0) return kernel.fill(to, number(at), n);
      if (one.dtype == DType::F32) return kernel.gather(reinterpret_cast<const float*>(memory) + at, stride, to, n);
      if (stride == 1 && one.dtype == DType::I64)
        return kernel.from_longs(reinterpret_cast<const int64_t*>(memory) + at, to, n);
      if (stride == 1) return kernel.from_bytes(reinterpret_cast<const uint8_t*>(memory) + at, to, n);
      for (int64_t i = 0; i < n; ++i) to[i] = number(at + i * stride);
    }

    void steps(int64_t n, int64_t element) {
      const auto& list = call_.steps_;
      const auto& program = call_.program_;
      const auto& kernel = kernels::point_kernel();
      size_t begin = 0;
      for (size_t at = 0; at <= list.size(); ++at) {
        if (at < list.size() && !program.steps[at].draw) continue;
        if (at > begin) kernel.run(list.data() + begin, int64_t(at - begin), operands_, n);
        if (at < list.size()) keep(list[at], *program.steps[at].draw, n, element);
        begin = at + 1;
      }
    }

    void keep(const kernels::PointStep& step, const PointProgram::Draw& draw, int64_t n, int64_t element) {
      auto* const words = reinterpret_cast<uint32_t*>(registers_ + call_.registers_ * kRun);
      keep_some(operands_[step.a], part_.key, draw.site, draw.keep, element, n, words, operands_[step.out]);
    }

    const PointCall& call_;
    Memory memory_;
    const Part& part_;
    float* registers_;
    // Most of them are not there, and are not written.
    float* operands_[kMostPointOperands];
    float* bases_[kMostPointOperands];  ///< of loads of f32
    int64_t at_[kMostPointOperands];
  };

  const PointProgram program_;
  Ints sizes_;                 // joined
  std::vector<Ints> strides_;  // of loads, then of stores
  std::vector<Spread> spread_;
  int64_t spread_count_ = 0;  ///< elements of each
  int64_t run_ = kRun;
  int64_t registers_ = 0, first_number_ = 0, first_load_ = 0, first_store_ = 0, count_ = 1;
  std::vector<int64_t> load_register_;
  std::vector<kernels::PointStep> steps_;
  std::vector<uint16_t> store_from_;
  std::vector<float> numbers_;
};

}  // namespace

Call make_point_call(const PointProgram& program, const std::vector<int64_t>& elements, int64_t samples,
                     Location location) {
  auto kernel = std::make_unique<PointCall>(program);
  Call call;
  const int64_t count = dense(0, program.sizes).count();
  const bool is_apart = has_samples_apart(dense(0, program.sizes), count, samples);
  // A second thread costs a meeting, which is worth some thousand elements.
  constexpr int64_t kWorthSharing = 4096;
  call.split = is_apart ? Split::Samples : count >= kWorthSharing ? Split::Shares : Split::Alone;
  kernel->splits_samples = is_apart;
  kernel->alone = call.split == Split::Alone;
  if (kernel->alone) call.why_split = kTooLittle;
  kernel->over = program.in_place(elements);
  for (const auto& load : program.loads) {
    const ValueId root = load.layout.root;
    call.reads.push_back({root, is_apart && has_samples_apart(load.layout, elements[root], samples)});
  }
  for (const auto& store : program.stores) call.writes.push_back({store.root, is_apart});
  call.kernel = std::move(kernel);
  call.location = std::move(location);
  return call;
}

}  // namespace ltr::plan
