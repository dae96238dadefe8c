// Convolutions of volumes: those of images, of which each plane of the result has one, with the planes that its kernel meets as channels.
// So the weight is that of these images as it lies.

#include <cstring>

#include "runtime/plan/cpu/lower/convolution.h"
#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// A convolution of [records, channels, z, y, x].
struct Volumes {
  int64_t records = 0, channels = 0;
  Axis z;
  Geometry planes;  ///< samples: records · z.out; inputs: channels of a group · z.kernel

  int64_t plane() const { return planes.image(); }
  /// `each(zo, k, zi)` for the places along z that element k of the kernel meets from place zo on.
  template <class Each>
  void each_met(const Each& each) const {
    for (int64_t zo = 0; zo < z.out; ++zo) {
      for (int64_t k = 0; k < z.kernel; ++k) each(zo, k, zo * z.stride + k * z.dilation - z.front);
    }
  }
  /// Where plane (zo, channel, k) of a record is.
  int64_t met(int64_t record, int64_t zo, int64_t channel, int64_t k) const {
    return (((record * z.out + zo) * channels + channel) * z.kernel + k) * plane();
  }
  int64_t given(int64_t record, int64_t channel, int64_t zi) const {
    return ((record * channels + channel) * z.in + zi) * plane();
  }
  Ints met_sizes() const { return {records * z.out, channels * z.kernel, planes.y.in, planes.x.in}; }
  Ints made_sizes() const { return {records * z.out, planes.groups * planes.outputs, planes.y.out, planes.x.out}; }
};

Layout for_planes(Lowering& to, const Ints& sizes) {
  const int64_t count = dense(kNone, sizes).count();
  return dense(to.temporary(DType::F32, count), sizes);
}

/// The planes that each plane of the result meets, of `x`: zeros where there are none.
Layout met_planes(Lowering& to, const Volumes& of, const Layout& x) {
  const Layout met = for_planes(to, of.met_sizes());
  const bool by_samples = to.is_apart(x) && to.is_apart(met);
  const Rows rows{of.records, x.count() / of.records, by_samples};
  call(to, rows.split(), {to.touched(x, by_samples)}, {to.touched(met, by_samples)},
       fmt::format("[{}] planes of a kernel", fmt::join(x.sizes, ", ")), [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         const auto bytes = size_t(of.plane()) * sizeof(float);
         for (int64_t record = begin; record < end; ++record) {
           of.each_met([&](int64_t zo, int64_t k, int64_t zi) {
             for (int64_t c = 0; c < of.channels; ++c) {
               float* const into = floats(memory, met) + of.met(record, zo, c, k);
               if (zi < 0 || zi >= of.z.in)
                 std::memset(into, 0, bytes);
               else
                 std::memcpy(into, floats(memory, x) + of.given(record, c, zi), bytes);
             }
           });
         }
       });
  return met;
}

/// out = bias + the sums of what the planes `met` give to each of its own.
void sum_planes(Lowering& to, const Volumes& of, const Layout& met, const Layout& bias, const Layout& out) {
  const bool by_samples = to.is_apart(met) && to.is_apart(out);
  const Rows rows{of.records, out.count() / of.records, by_samples};
  call(to, rows.split(), {to.touched(met, by_samples), {bias.root, false}}, {to.touched(out, by_samples)},
       fmt::format("[{}] planes summed", fmt::join(out.sizes, ", ")), [=](Memory memory, const Part& part) {
         const auto [begin, end] = rows.of(part);
         const int64_t of_channel = of.z.in * of.plane();
         for (int64_t record = begin; record < end; ++record) {
           for (int64_t c = 0; c < of.channels; ++c)
             std::fill_n(floats(memory, out) + of.given(record, c, 0), of_channel,
                         bias.root == kNone ? 0.0F : floats(memory, bias)[c]);
           of.each_met([&](int64_t zo, int64_t k, int64_t zi) {
             if (zi < 0 || zi >= of.z.in) return;
             for (int64_t c = 0; c < of.channels; ++c) {
               const float* const from = floats(memory, met) + of.met(record, zo, c, k);
               float* const into = floats(memory, out) + of.given(record, c, zi);
               for (int64_t i = 0; i < of.plane(); ++i) into[i] += from[i];
             }
           });
         }
       });
}

/// [records, channels, z, y, x], as images of [records · z, channels, y, x].
Layout as_images(Lowering& to, const Volumes& of, Layout y) {
  std::swap(y.sizes[1], y.sizes[2]);
  std::swap(y.strides[1], y.strides[2]);
  const Layout planes = to.side_by_side(y, DType::F32);
  if (to.is_apart(*reshaped(planes, of.made_sizes()))) return *reshaped(planes, of.made_sizes());
  const Layout copy = for_planes(to, of.made_sizes());
  PointProgram program = Lowering::program(copy.sizes);
  program.store(copy.root, DType::F32, program.load(*reshaped(planes, copy.sizes), DType::F32));
  to.add(std::move(program));
  return copy;
}
/// The result `at` as such images lie, in its own memory; which images these are.
Layout lay_out_images(Lowering& to, const Volumes& of, size_t at) {
  const ValueId id = to.node().results[at];
  Layout layout = to.layout(id);
  std::swap(layout.sizes[1], layout.sizes[2]);
  layout = dense(id, layout.sizes);
  std::swap(layout.sizes[1], layout.sizes[2]);
  std::swap(layout.strides[1], layout.strides[2]);
  to.lay_out(at, std::move(layout));
  return dense(id, of.made_sizes());
}

/// What the volumes do beside their weight; an axis has a number in each list.
struct VolumeSteps {
  Ints stride, front, behind, dilation;
};

/// Nothing where there is no kernel for it.
Option<Volumes> volumes_of(const Lowering& to, int64_t groups, const Layout& in, const Layout& weight,
                           const Layout& out, const VolumeSteps& steps) {
  if (in.sizes.size() != 5 || in.count() == 0 || out.count() == 0 || in.sizes[0] % to.samples() != 0)
    return std::nullopt;
  Volumes of;
  of.records = in.sizes[0];
  of.channels = in.sizes[1];
  Axis* const axes[] = {&of.z, &of.planes.y, &of.planes.x};
  for (size_t i = 0; i < 3; ++i) {
    if (steps.behind[i] < 0) return std::nullopt;
    *axes[i] = {in.sizes[i + 2],   out.sizes[i + 2], weight.sizes[i + 2], steps.stride[i],
                steps.dilation[i], steps.front[i],   steps.behind[i]};
  }
  of.planes.products_by = &to.products();
  of.planes.samples = of.records * of.z.out;
  of.planes.groups = groups;
  of.planes.inputs = weight.sizes[1] * of.z.kernel;
  of.planes.outputs = weight.sizes[0] / groups;
  return of;
}

VolumeSteps steps_of(const Ints& stride, const Ints& ends, const Ints& dilation, const Ints& less) {
  VolumeSteps steps{stride, {}, {}, dilation};
  for (size_t i = 0; i < 3; ++i) {
    steps.front.push_back(ends[2 * i]);
    steps.behind.push_back(ends[2 * i + 1] - less[i]);
  }
  return steps;
}
Ints both_ends(const Ints& padding) {
  Ints ends;
  for (const int64_t one : padding) ends.insert(ends.end(), 2, one);
  return ends;
}

Layout image_weight(Lowering& to, ValueId id) {
  const Layout weight = to.side_by_side(to.layout(id), DType::F32);
  const Ints& sizes = weight.sizes;
  return *reshaped(weight, {sizes[0], sizes[1] * sizes[2], sizes[3], sizes[4]});
}

/// A layer; a transposed one is the gradient by input of a convolution from its result to x.
bool volume_layer(Lowering& to, bool is_transposed) {
  const Node& node = to.node();
  const ValueId x = to.argument(0), bias = to.argument(2);
  if (!to.is_f32({x, to.argument(1), bias})) return false;
  const Layout given = to.layout(x), result = to.layout(to.result());
  const Ints none(3, 0);
  const VolumeSteps steps = is_transposed ? steps_of(node.host<Ints>(3), both_ends(node.host<Ints>(4)),
                                                     node.host<Ints>(7), node.host<Ints>(5))
                                          : steps_of(node.host<Ints>(3), node.host<Ints>(4), node.host<Ints>(5), none);
  const Option<Volumes> of = volumes_of(to, node.host<int64_t>(6), is_transposed ? result : given,
                                        to.layout(to.argument(1)), is_transposed ? given : result, steps);
  if (!of) return false;
  const Layout weight = image_weight(to, to.argument(1)), b = given_or_none(to, bias);
  if (is_transposed) {
    const Layout met = for_planes(to, of->met_sizes());
    convolve_back(to, of->planes, as_images(to, *of, given), weight, {}, met);
    sum_planes(to, *of, met, b, result);
  } else {
    const Layout met = met_planes(to, *of, to.side_by_side(given, DType::F32));
    convolve(to, of->planes, met, weight, b, lay_out_images(to, *of, 0), "convolution");
  }
  return true;
}

bool volume_backward(Lowering& to) {
  const Node& node = to.node();
  if (!to.is_f32({to.argument(0), to.argument(1), to.argument(2)})) return false;
  const bool is_transposed = node.host<bool>(6);
  const Layout dy = to.layout(to.argument(0)), x = to.layout(to.argument(1));
  if (x.sizes.size() != 5) return false;
  const VolumeSteps steps = steps_of(node.host<Ints>(3), node.host<Ints>(4), node.host<Ints>(5), node.host<Ints>(7));
  const Layout &in = is_transposed ? dy : x, &out = is_transposed ? x : dy;
  const Option<Volumes> of = volumes_of(to, node.host<int64_t>(8), in, to.layout(to.argument(2)), out, steps);
  if (!of) return false;
  const Layout weight = image_weight(to, to.argument(2)), images = as_images(to, *of, out);
  Layout met;
  if (is_transposed || node.results[1] != kNone) met = met_planes(to, *of, to.side_by_side(in, DType::F32));
  if (node.results[0] != kNone && is_transposed)
    convolve(to, of->planes, met, weight, {}, lay_out_images(to, *of, 0), "convolution, by input");
  if (node.results[0] != kNone && !is_transposed) {
    const Layout by_met = for_planes(to, of->met_sizes());
    convolve_back(to, of->planes, images, weight, {}, by_met);
    sum_planes(to, *of, by_met, {}, to.layout(node.results[0]));
  }
  if (node.results[1] != kNone) sum_weight(to, of->planes, images, met, to.layout(node.results[1]));
  return true;
}

}  // namespace

bool lower_volume(Lowering& to) {
  switch (to.node().op) {
    case Op::conv3d: return volume_layer(to, false);
    case Op::conv_transpose3d: return volume_layer(to, true);
    case Op::conv_backward: return volume_backward(to);
    default: return false;
  }
}

}  // namespace ltr::plan
