// Norms over channels: of the batch, of groups of channels, by the root of the mean of squares.

#include <cmath>

#include "runtime/kernels/norm.h"
#include "runtime/kernels/rows.h"
#include "runtime/plan/cpu/lower/function.h"
#include "runtime/tensor/joint_norm.h"

namespace ltr::plan {

namespace {

using kernels::Flow;
using kernels::Moments;
using kernels::norm_kernel;
using kernels::row_kernel;

/// What is [records, channels, places].
struct Channels {
  int64_t records = 0, channels = 0, places = 0;
  int64_t each() const { return channels * places; }  ///< elements of a record
  double values() const { return double(records * places); }
};
Channels channels_of(const Layout& x) {
  const int64_t outer = x.sizes[0] * x.sizes[1];
  return {x.sizes[0], x.sizes[1], outer == 0 ? 0 : x.count() / outer};
}

/// A number for each channel of `x`, `stride` apart.
Layout for_channels(const Layout& x, ValueId root, int64_t offset, int64_t stride = 1) {
  Layout layout{root, offset, x.sizes, Ints(x.sizes.size(), 0)};
  layout.strides[1] = stride;
  return layout;
}
Str named(const Lowering& to, const Layout& x, const char* what) {
  return fmt::format("[{}] {}{}", fmt::join(x.sizes, ", "), name_of(to.node().op), what);
}

/// For each channel a `Sums` over all records, which `finish(memory, part, c, sums)` takes. `of_plane` gives that of a plane, and
/// `of_columns` those of columns of records that have one place; what `join` adds up goes by records in their order.
template <class Sums, class OfPlane, class OfColumns, class Join, class Finish>
void over_records(Lowering& to, const Channels& of, std::vector<Layout> from, std::vector<Touched> reads,
                  std::vector<Touched> writes, const Str& text, const OfPlane& of_plane, const OfColumns& of_columns,
                  const Join& join, const Finish& finish) {
  if (of.places == 1) {
    for (const Layout& one : from) reads.push_back({one.root, false});
    call(
        to, Split::Shares, std::move(reads), std::move(writes), text,
        [=](Memory memory, const Part& part) {
          const auto [begin, end] = part.share(of.channels);
          auto* const sums = reinterpret_cast<Sums*>(part.scratch);
          of_columns(memory, begin, end - begin, sums);
          for (int64_t c = begin; c < end; ++c) finish(memory, part, c, sums[c - begin]);
        },
        of.channels * int64_t(sizeof(Sums)));
    return;
  }
  constexpr int64_t kNumbers = sizeof(Sums) / sizeof(double);
  const int64_t planes = of.records * of.channels;
  const Layout parts = dense(to.temporary(DType::F64, planes * kNumbers), {planes, kNumbers});
  bool by_samples = to.is_apart(parts);
  for (const Layout& one : from) by_samples = by_samples && to.is_apart(one);
  const Rows rows{of.records, of.each(), by_samples};
  std::vector<Touched> of_parts;
  for (const Layout& one : from) of_parts.push_back(to.touched(one, by_samples));
  // What is known of a channel is the same for all records.
  for (const Touched& read : reads) of_parts.push_back(read);
  const auto sums_of = [parts](Memory memory) { return reinterpret_cast<Sums*>(memory[parts.root]); };
  call(to, rows.split(), std::move(of_parts), {to.touched(parts, by_samples)}, text,
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         Sums* const sums = sums_of(memory);
         for (int64_t plane = begin * of.channels; plane < end * of.channels; ++plane)
           sums[plane] = of_plane(memory, plane, plane % of.channels);
       });
  reads.push_back({parts.root, false});
  call(to, Split::Shares, std::move(reads), std::move(writes), fmt::format("[{}] joined", of.channels),
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = part.share(of.channels);
         for (int64_t c = begin; c < end; ++c) {
           Sums sums;
           for (int64_t r = 0; r < of.records; ++r) join(sums, sums_of(memory)[r * of.channels + c]);
           finish(memory, part, c, sums);
         }
       });
}

// ---- batch norm

/// What it keeps from batch to batch; no roots where it keeps nothing.
struct Running {
  Layout mean, var, seen;
  double momentum = 0;

  void update(Memory memory, int64_t channel, const Moments& now) const {
    const auto mix = [&](const Layout& kept, double value) {
      if (kept.root == kNone) return;
      float& number = floats(memory, kept)[channel];
      number = float(momentum * value + (1 - momentum) * double(number));
    };
    mix(mean, now.mean);
    mix(var, now.squares / (now.count - 1));
  }
  void count(Memory memory) const {
    if (seen.root != kNone) ++*longs(memory, seen);
  }
};

/// The batch's mean and 1 / deviation of each channel, one list behind the other.
Layout batch_moments(Lowering& to, const Layout& x, double eps, const Running& running) {
  const Channels of = channels_of(x);
  const Layout found = dense(to.temporary(DType::F32, 2 * of.channels), {2, of.channels});
  std::vector<Touched> writes{{found.root, false}};
  for (const Layout* kept : {&running.mean, &running.var, &running.seen}) {
    if (kept->root != kNone) writes.push_back({kept->root, false});
  }
  over_records<Moments>(
      to, of, {x}, {}, std::move(writes), named(to, x, " moments"),
      [=](Memory memory, int64_t plane, int64_t) {
        return norm_kernel().moments(floats(memory, x) + plane * of.places, of.places);
      },
      [=](Memory memory, int64_t first, int64_t count, Moments* out) {
        norm_kernel().column_moments(floats(memory, x) + first, of.channels, of.records, count, out);
      },
      [](Moments& all, const Moments& one) { all.join(one); },
      [=](Memory memory, const Part& part, int64_t c, const Moments& one) {
        floats(memory, found)[c] = float(one.mean);
        floats(memory, found)[of.channels + c] = float(1 / std::sqrt(one.squares / one.count + eps));
        running.update(memory, c, one);
        if (c == 0) running.count(memory);
        (void)part;
      });
  return found;
}

/// 1 / deviation of what is kept of earlier batches.
Layout kept_deviation(Lowering& to, const Layout& var, double eps) {
  const int64_t channels = var.count();
  const Layout found = dense(to.temporary(DType::F32, channels), {channels});
  call(to, Split::Alone, {{var.root, false}}, {{found.root, false}}, fmt::format("[{}] rsqrt", channels),
       [=](Memory memory, const Part&) {
         for (int64_t c = 0; c < channels; ++c)
           floats(memory, found)[c] = float(1 / std::sqrt(double(floats(memory, var)[c]) + eps));
       });
  return found;
}

bool is_kept(const Lowering& to, ValueId id) {
  return id == kNone || (to.is_given(to.layout(id).root) && to.layout(id).is_dense());
}

/// Whether its batch is that of this process, and there is a kernel for what it takes.
bool is_plain(const Lowering& to, const Layout& x, ValueId mean, ValueId var) {
  if (x.sizes.size() < 2) return false;
  if (!to.node().is_training)
    return mean != kNone && var != kNone && to.layout(mean).is_dense() && to.layout(var).is_dense();
  if (!is_kept(to, mean) || !is_kept(to, var)) return false;
  // Where a channel has one value, the reference says what is wrong.
  return joint_sum() == nullptr && channels_of(x).values() > 1;
}

std::vector<Argument> key_of_moments(const Lowering& to, ValueId x, double eps) {
  return {Str("batch_norm"),  ValueRef{to.layout(x).root}, to.layout(x).offset,
          to.layout(x).sizes, to.layout(x).strides,        eps};
}

/// y = (x - mean) · 1 / deviation · weight + bias, which functions of elements join.
bool batch_norm(Lowering& to) {
  using kernels::Point;
  const Node& node = to.node();
  const ValueId given = to.argument(0), weight = to.argument(1), bias = to.argument(2), mean = to.argument(3),
                var = to.argument(4), seen = to.argument(5);
  if (!to.is_f32({given, weight, bias, mean, var}) || !is_plain(to, to.layout(given), mean, var)) return false;
  if (!is_kept(to, seen) || (seen != kNone && to.dtype(seen) != DType::I64)) return false;
  const double eps = node.host<double>(7);
  const Layout x = to.side_by_side(to.layout(given), DType::F32);
  const Channels of = channels_of(x);
  Layout centre, deviation;
  if (node.is_training) {
    const auto layout = [&](ValueId id) { return id == kNone ? Layout() : to.layout(id); };
    const Layout moments = batch_moments(to, x, eps, {layout(mean), layout(var), layout(seen), node.host<double>(6)});
    to.leave(key_of_moments(to, given, eps), {moments.root});
    centre = for_channels(x, moments.root, 0);
    deviation = for_channels(x, moments.root, of.channels);
  } else {
    centre = for_channels(x, to.layout(mean).root, to.layout(mean).offset);
    deviation = for_channels(x, kept_deviation(to, to.layout(var), eps).root, 0);
  }
  const auto channel_values = [&](ValueId id) {
    const Layout& layout = to.layout(id);
    return for_channels(x, layout.root, layout.offset, layout.strides[0]);
  };
  PointProgram program = Lowering::program(x.sizes);
  auto y = program.step(Point::sub, program.load(x, DType::F32), program.load(centre, DType::F32));
  y = program.step(Point::mul, y, program.load(deviation, DType::F32));
  if (weight != kNone) y = program.step(Point::mul, y, program.load(channel_values(weight), DType::F32));
  if (bias != kNone) y = program.step(Point::add, y, program.load(channel_values(bias), DType::F32));
  program.store(to.result(), DType::F32, y);
  to.add(std::move(program));
  return true;
}

/// Factors of the channels of a weight, and its bias: of a layer and the norm behind it, as one.
bool fold_norm(Lowering& to) {
  const Node& node = to.node();
  for (size_t at = 0; at < 6; ++at) {
    if (!to.is_f32({to.argument(at)})) return false;
  }
  const double eps = node.host<double>(6);
  const int64_t axis = node.host<int64_t>(7), groups = node.host<int64_t>(8);
  const Layout weight = given_or_none(to, to.argument(0)), bias = given_or_none(to, to.argument(1)),
               scale = given_or_none(to, to.argument(2)), shift = given_or_none(to, to.argument(3)),
               mean = given_or_none(to, to.argument(4)), var = given_or_none(to, to.argument(5)),
               term = to.layout(to.result(1));
  const int64_t channels = var.count(), each = channels / groups;
  const Layout factors = dense(to.temporary(DType::F32, channels), {channels});
  std::vector<Touched> reads;
  for (const Layout* one : {&bias, &scale, &shift, &mean, &var}) reads.push_back({one->root, false});
  call(to, Split::Alone, std::move(reads), {{factors.root, false}, {term.root, false}},
       fmt::format("[{}] factors of a norm", channels), [=](Memory memory, const Part&) {
         const auto number = [&](const Layout& of, int64_t c, double otherwise) {
           return of.root == kNone ? otherwise : double(floats(memory, of)[c]);
         };
         for (int64_t c = 0; c < channels; ++c) {
           const double factor = number(scale, c, 1) / std::sqrt(number(var, c, 0) + eps);
           floats(memory, factors)[c] = float(factor);
           floats(memory, term)[c] = float((number(bias, c, 0) - number(mean, c, 0)) * factor + number(shift, c, 0));
         }
       });
  // [groups, inputs of a group, outputs of it, what is behind], or outputs first.
  const int64_t inputs = axis == 0 ? 1 : weight.sizes[0] / groups, behind = weight.count() / (groups * inputs * each);
  PointProgram program = Lowering::program({groups, inputs, each, behind});
  const auto w = program.load(*reshaped(weight, program.sizes), DType::F32);
  const Layout of_channels{factors.root, 0, program.sizes, {each, 0, 1, 0}};
  program.store(to.result(), DType::F32, program.step(kernels::Point::mul, w, program.load(of_channels, DType::F32)));
  to.add(std::move(program));
  return true;
}

/// What the gradient by x is made of: of_g · g + ((x - mean) · of_x + added), lists of numbers for channels.
struct Slopes {
  Layout numbers;  ///< [of_g, of_x, added][channels]
  int64_t channels;
  bool is_training;
  double values;

  void set(Memory memory, int64_t c, const Flow& flow, double deviation, double weight) const {
    float* const at = floats(memory, numbers) + c;
    const double of_g = deviation * weight;
    at[0] = float(of_g);
    at[channels] = is_training ? float(-of_g * deviation * deviation * flow.along / values) : 0;
    at[2 * channels] = is_training ? float(-of_g * flow.sum / values) : 0;
  }
};

/// Where mean and 1 / deviation of each channel stand.
struct Centre {
  Layout mean, deviation;
};
Centre centre_of(Lowering& to, const Layout& x, ValueId given, ValueId mean, ValueId var, double eps) {
  const int64_t channels = channels_of(x).channels;
  if (!to.node().is_training) return {to.layout(mean), kept_deviation(to, to.layout(var), eps)};
  const std::vector<ValueId>* const left = to.left(key_of_moments(to, given, eps));
  const ValueId moments = left != nullptr ? left->front() : batch_moments(to, x, eps, {}).root;
  Layout found = dense(moments, {channels});
  Centre centre{found, found};
  centre.deviation.offset = channels;
  return centre;
}

bool batch_norm_backward(Lowering& to) {
  using kernels::Point;
  const Node& node = to.node();
  const ValueId given = to.argument(1), weight = to.argument(2), mean = to.argument(3), var = to.argument(4);
  if (!to.is_f32({to.argument(0), given, weight, mean, var}) || !is_plain(to, to.layout(given), mean, var))
    return false;
  const Layout g = to.side_by_side(to.layout(to.argument(0)), DType::F32),
               x = to.side_by_side(to.layout(given), DType::F32), w = given_or_none(to, weight);
  const Channels of = channels_of(x);
  const Centre centre = centre_of(to, x, given, mean, var, node.host<double>(5));
  const Slopes slopes{dense(to.temporary(DType::F32, 3 * of.channels), {3, of.channels}), of.channels, node.is_training,
                      of.values()};
  std::vector<Touched> writes{{slopes.numbers.root, false}};
  Layout by_weight, by_bias;
  if (weight != kNone && node.results[1] != kNone) by_weight = to.layout(node.results[1]);
  if (node.results[2] != kNone) by_bias = to.layout(node.results[2]);
  for (const Layout* one : {&by_weight, &by_bias}) {
    if (one->root != kNone) writes.push_back({one->root, false});
  }
  over_records<Flow>(
      to, of, {x, g}, {{centre.mean.root, false}, {centre.deviation.root, false}, {w.root, false}}, std::move(writes),
      named(to, x, " sums"),
      [=](Memory memory, int64_t plane, int64_t c) {
        const int64_t at = plane * of.places;
        return norm_kernel().flow(floats(memory, x) + at, floats(memory, g) + at, floats(memory, centre.mean)[c],
                                  of.places);
      },
      [=](Memory memory, int64_t first, int64_t count, Flow* out) {
        norm_kernel().column_flow(floats(memory, x) + first, floats(memory, g) + first,
                                  floats(memory, centre.mean) + first, of.channels, of.records, count, out);
      },
      [](Flow& all, const Flow& one) {
        all.sum += one.sum;
        all.along += one.along;
      },
      [=](Memory memory, const Part&, int64_t c, const Flow& flow) {
        const double deviation = floats(memory, centre.deviation)[c];
        slopes.set(memory, c, flow, deviation, w.root == kNone ? 1 : double(floats(memory, w)[c]));
        if (by_weight.root != kNone) floats(memory, by_weight)[c] = float(flow.along * deviation);
        if (by_bias.root != kNone) floats(memory, by_bias)[c] = float(flow.sum);
      });
  if (node.results[0] == kNone) return true;
  const auto slope = [&](PointProgram& program, int64_t at) {
    return program.load(for_channels(x, slopes.numbers.root, at * of.channels), DType::F32);
  };
  PointProgram program = Lowering::program(x.sizes);
  auto by_x = program.step(Point::mul, program.load(g, DType::F32), slope(program, 0));
  if (node.is_training) {
    auto part = program.step(Point::sub, program.load(x, DType::F32),
                             program.load(for_channels(x, centre.mean.root, centre.mean.offset), DType::F32));
    part = program.step(Point::mul, part, slope(program, 1));
    by_x = program.step(Point::add, by_x, program.step(Point::add, part, slope(program, 2)));
  }
  program.store(node.results[0], DType::F32, by_x);
  to.add(std::move(program));
  return true;
}

// ---- group norm

/// Groups of channels of a record, which lie side by side.
struct Groups {
  Channels of;
  int64_t groups = 1;
  double eps = 0;
  int64_t wide() const { return of.channels / groups; }
  int64_t size() const { return wide() * of.places; }
  double deviation(const Moments& one) const { return 1 / std::sqrt(one.squares / one.count + eps); }
};

bool group_norm(Lowering& to, size_t groups_at) {
  const bool is_instance = groups_at == 0;
  const size_t at = is_instance ? 1 : 2;
  const ValueId weight = to.argument(at), bias = to.argument(at + 1);
  if (!to.is_f32({to.argument(0), weight, bias}) || to.layout(to.argument(0)).sizes.size() < 2) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32), w = given_or_none(to, weight),
               b = given_or_none(to, bias), y = to.layout(to.result());
  Groups of{channels_of(x), 1, to.node().host<double>(at + 2)};
  of.groups = is_instance ? of.of.channels : to.node().host<int64_t>(1);
  const bool by_samples = to.is_apart(x) && to.is_apart(y);
  const Rows rows{of.of.records, of.of.each(), by_samples};
  call(to, rows.split(), {to.touched(x, by_samples), {w.root, false}, {b.root, false}}, {to.touched(y, by_samples)},
       named(to, x, ""), [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         for (int64_t group = begin * of.groups; group < end * of.groups; ++group) {
           const float* const in = floats(memory, x) + group * of.size();
           const Moments one = norm_kernel().moments(in, of.size());
           const double deviation = of.deviation(one);
           for (int64_t i = 0; i < of.wide(); ++i) {
             const int64_t c = group % of.groups * of.wide() + i, place = i * of.of.places;
             const float factor = float(w.root == kNone ? deviation : deviation * double(floats(memory, w)[c]));
             norm_kernel().scale(in + place, float(one.mean), factor, b.root == kNone ? 0.0F : floats(memory, b)[c],
                                 of.of.places, floats(memory, y) + group * of.size() + place);
           }
         }
       });
  return true;
}

/// One group of a record; the sums of channels go to `by_weight` and `by_bias`.
void group_slope(const Groups& of, const float* x, const float* g, const float* weight, float* by_x, float* by_weight,
                 float* by_bias) {
  const Moments one = norm_kernel().moments(x, of.size());
  const double deviation = of.deviation(one);
  const auto mean = float(one.mean);
  Flow all;
  for (int64_t i = 0; i < of.wide(); ++i) {
    const Flow flow = norm_kernel().flow(x + i * of.of.places, g + i * of.of.places, mean, of.of.places);
    by_weight[i] = float(flow.along * deviation);
    by_bias[i] = float(flow.sum);
    const double w = weight == nullptr ? 1 : double(weight[i]);
    all.sum += w * flow.sum;
    all.along += w * flow.along;
  }
  const auto size = double(of.size());
  const auto of_x = float(-deviation * deviation * deviation * all.along / size),
             added = float(-deviation * all.sum / size);
  for (int64_t i = 0; i < of.wide(); ++i) {
    const int64_t at = i * of.of.places;
    norm_kernel().slope(x + at, g + at, mean, float(weight == nullptr ? deviation : deviation * double(weight[i])),
                        of_x, added, of.of.places, by_x + at);
  }
}

bool group_norm_backward(Lowering& to) {
  const Node& node = to.node();
  const ValueId weight = to.argument(3);
  if (!to.is_f32({to.argument(0), to.argument(1), weight}) || node.results[0] == kNone) return false;
  if (to.layout(to.argument(1)).sizes.size() < 2) return false;
  const Layout g = to.side_by_side(to.layout(to.argument(0)), DType::F32),
               x = to.side_by_side(to.layout(to.argument(1)), DType::F32), w = given_or_none(to, weight),
               by_x = to.layout(node.results[0]);
  const Groups of{channels_of(x), node.host<int64_t>(2), node.host<double>(4)};
  const int64_t records = of.of.records, channels = of.of.channels;
  const Layout parts = dense(to.temporary(DType::F32, records * 2 * channels), {records, 2, channels});
  bool by_samples = true;
  for (const Layout* one : {&g, &x, &by_x, &parts}) by_samples = by_samples && to.is_apart(*one);
  const Rows rows{records, of.of.each(), by_samples};
  call(to, rows.split(), {to.touched(g, by_samples), to.touched(x, by_samples), {w.root, false}},
       {to.touched(by_x, by_samples), to.touched(parts, by_samples)}, named(to, x, ""),
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         for (int64_t record = begin; record < end; ++record) {
           float* const sums = floats(memory, parts) + record * 2 * channels;
           for (int64_t group = 0; group < of.groups; ++group) {
             const int64_t c = group * of.wide(), at = (record * of.groups + group) * of.size();
             group_slope(of, floats(memory, x) + at, floats(memory, g) + at,
                         w.root == kNone ? nullptr : floats(memory, w) + c, floats(memory, by_x) + at, sums + c,
                         sums + channels + c);
           }
         }
       });
  for (size_t at = weight == kNone ? 2 : 1; at < 3; ++at) {
    if (node.results[at] == kNone) continue;
    const Layout out = to.layout(node.results[at]);
    call(to, Split::Alone, {{parts.root, false}}, {{out.root, false}}, fmt::format("[{}] sums", channels),
         [=, offset = (int64_t(at) - 1) * channels](Memory memory, const Part&) {
           row_kernel().sum_columns(floats(memory, parts) + offset, 2 * channels, records, channels,
                                    floats(memory, out));
         });
  }
  return true;
}

// ---- by the root of the mean of squares

bool rms_norm(Lowering& to) {
  const ValueId weight = to.argument(1);
  const Layout& given = to.layout(to.argument(0));
  if (!to.is_f32({to.argument(0), weight}) || given.sizes.empty()) return false;
  if (weight != kNone && to.layout(weight).count() != given.sizes.back()) return false;
  const Layout x = to.side_by_side(given, DType::F32), w = given_or_none(to, weight), y = to.layout(to.result());
  const auto* const eps = std::get_if<double>(&to.node().arguments[2]);
  const double added = eps != nullptr ? *eps : 0x1p-23;
  Rows rows = rows_of(to, x);
  const bool by_samples = rows.by_samples = rows.by_samples && to.is_apart(y);
  call(to, rows.split(), {to.touched(x, by_samples), {w.root, false}}, {to.touched(y, by_samples)}, named(to, x, ""),
       [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         norm_kernel().rms_norm(floats(memory, x) + begin * rows.width, floats_or_null(memory, w), added, end - begin,
                                rows.width, floats(memory, y) + begin * rows.width);
       });
  return true;
}

}  // namespace

bool lower_norm(Lowering& to) {
  switch (to.node().op) {
    case Op::batch_norm: return batch_norm(to);
    case Op::fold_norm: return fold_norm(to);
    case Op::batch_norm_backward: return batch_norm_backward(to);
    case Op::group_norm: return group_norm(to, 1);
    case Op::instance_norm: return group_norm(to, 0);
    case Op::group_norm_backward: return group_norm_backward(to);
    case Op::rms_norm: return rms_norm(to);
    default: return false;
  }
}

}  // namespace ltr::plan
