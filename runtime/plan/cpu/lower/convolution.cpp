// Convolutions of lines and images, as products of the weight with patches that are packed panel by panel.

#include <algorithm>
#include <cstring>

#include "runtime/kernels/product.h"
#include "runtime/plan/cpu/lower/convolution.h"

namespace ltr::plan {

namespace {

using kernels::Matrix;
using kernels::PanelProduct;
using kernels::patch_kernel;
using kernels::Patches;

/// Floats that may be touched behind an image or a panel.
constexpr int64_t kSlack = 32;
/// Sums of a panel, so that it stays in the nearest cache; places and panels of a block, which stays in the next.
constexpr int64_t kPatchDepth = 320, kPatchPanels = 8, kPatchRows = 48;

/// Blocks of at most `most` of `count`, about as large.
int64_t block_of(int64_t count, int64_t most) {
  const int64_t blocks = (count + most - 1) / most;
  return (count + blocks - 1) / blocks;
}

/// Rows of `places` of one image each, of several images, as rows of all their places; or back.
void join_images(const float* from, int64_t step, int64_t images, int64_t rows, int64_t places, float* to) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < images; ++i, to += places)
      std::memcpy(to, from + i * step + row * places, size_t(places) * sizeof(float));
  }
}
void part_images(const float* from, int64_t images, int64_t rows, int64_t places, float* to, int64_t step) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < images; ++i, from += places)
      std::memcpy(to + i * step + row * places, from, size_t(places) * sizeof(float));
  }
}

/// out = bias + weight · patches of x, each thread its own samples; those of small images together, so that panels are full.
class Convolution : public Kernel {
 public:
  Convolution(const Geometry& geometry, Layout x, Layout weight, Layout bias, Layout out, const char* name)
      : of_(geometry),
        x_(std::move(x)),
        weight_(std::move(weight)),
        bias_(std::move(bias)),
        out_(std::move(out)),
        name_(name) {}

  void run(Memory memory, const Part& part) const override {
    const auto [begin, end] = part.of(of_.samples);
    auto* const image = reinterpret_cast<float*>(part.scratch);
    const int64_t elements = of_.inputs * of_.padded();
    for (int64_t sample = begin; sample < end; sample += together()) {
      const int64_t images = std::min(together(), end - sample);
      for (int64_t group = 0; group < of_.groups; ++group) {
        for (int64_t i = 0; i < images; ++i)
          of_.pad(floats(memory, x_) + ((sample + i) * of_.groups + group) * of_.inputs * of_.image(), of_.inputs,
                  image + i * elements);
        convolve(memory, image, sample, images, group);
      }
    }
  }
  int64_t scratch_bytes() const override {
    const int64_t of_images = of_.inputs * of_.padded() + (together() > 1 ? of_.outputs * of_.places() : 0);
    return (together() * of_images + kPatchPanels * of_.products_by->width * kPatchDepth + 2 * kSlack) *
           int64_t(sizeof(float));
  }
  double products() const override { return of_.products(); }
  Str text() const override { return fmt::format("{} {}", of_.text(), name_); }

 private:
  int64_t together() const { return of_.together(kPatchPanels * of_.products_by->width); }

  void convolve(Memory memory, float* image, int64_t sample, int64_t images, int64_t group) const {
    const int64_t width = of_.products_by->width, depth = of_.depth(), columns = images * of_.places();
    const int64_t block = block_of(depth, kPatchDepth);
    const Patches patches = of_.patches(image, of_.inputs);
    float* const panels = image + images * of_.inputs * of_.padded() + kSlack;
    const int64_t step = of_.groups * of_.outputs * of_.places();
    float* const result = floats(memory, out_) + sample * step + group * of_.outputs * of_.places();
    float* const out = images == 1 ? result : panels + kPatchPanels * width * kPatchDepth + kSlack;
    PanelProduct product;
    product.out_row = columns;
    for (int64_t first = 0; first < columns; first += kPatchPanels * width) {
      const int64_t last = std::min(columns, first + kPatchPanels * width);
      for (int64_t from = 0; from < depth; from += block) {
        product.depth = std::min(block, depth - from);
        product.adds = from > 0;
        for (int64_t p = first; p < last; p += width) {
          float* const panel = panels + (p - first) * product.depth;
          patch_kernel().by_places(patches, from, product.depth, p, std::min(width, last - p), panel);
          of_.products_by->settle(panel, product.depth);
        }
        for (int64_t row = 0; row < of_.outputs; row += kPatchRows) {
          const int64_t channel = group * of_.outputs + row;
          product.rows = std::min(kPatchRows, of_.outputs - row);
          product.left = {floats(memory, weight_) + channel * depth + from, depth, 1};
          if (bias_.root != kNone) product.row_bias = from == 0 ? floats(memory, bias_) + channel : nullptr;
          for (int64_t p = first; p < last; p += width) {
            product.panel = panels + (p - first) * product.depth;
            product.columns = std::min(width, last - p);
            product.out = out + row * columns + p;
            of_.products_by->multiply(product);
          }
        }
      }
    }
    if (images > 1) part_images(out, images, of_.outputs, of_.places(), result, step);
  }

  Geometry of_;
  Layout x_, weight_, bias_, out_;
  const char* name_;
};

/// by_x of strides: what each place gives to its patch is added there, and a bias; each thread its own samples.
class SpreadPatches : public Kernel {
 public:
  /// `weight` [groups, depth, outputs].
  SpreadPatches(const Geometry& geometry, Layout gradient, Layout weight, Layout bias, Layout out)
      : of_(geometry),
        gradient_(std::move(gradient)),
        weight_(std::move(weight)),
        bias_(std::move(bias)),
        out_(std::move(out)) {}

  void run(Memory memory, const Part& part) const override {
    const auto [begin, end] = part.of(of_.samples);
    auto* const image = reinterpret_cast<float*>(part.scratch);
    const int64_t elements = of_.inputs * of_.padded();
    for (int64_t sample = begin; sample < end; sample += together()) {
      const int64_t images = std::min(together(), end - sample);
      for (int64_t group = 0; group < of_.groups; ++group) {
        for (int64_t channel = 0; channel < images * of_.inputs; ++channel) {
          const float bias = bias_.root == kNone ? 0 : floats(memory, bias_)[group * of_.inputs + channel % of_.inputs];
          std::fill_n(image + channel * of_.padded(), of_.padded(), bias);
        }
        spread(memory, image, sample, images, group);
        for (int64_t i = 0; i < images; ++i)
          of_.crop(image + i * elements, of_.inputs,
                   floats(memory, out_) + ((sample + i) * of_.groups + group) * of_.inputs * of_.image());
      }
    }
  }
  int64_t scratch_bytes() const override {
    const int64_t width = of_.products_by->width;
    return (together() * (of_.inputs * of_.padded() + of_.outputs * of_.places()) +
            (of_.outputs + of_.depth()) * width + 2 * kSlack) *
           int64_t(sizeof(float));
  }
  double products() const override { return of_.products(); }
  Str text() const override { return fmt::format("{} convolution spread back", of_.text()); }

 private:
  int64_t together() const { return of_.together(2 * of_.products_by->width); }

  void spread(Memory memory, float* image, int64_t sample, int64_t images, int64_t group) const {
    const int64_t width = of_.products_by->width, depth = of_.depth(), columns = images * of_.places();
    float* const panel = image + images * of_.inputs * of_.padded() + kSlack;
    float* const values = panel + of_.outputs * width;
    float* const joined = values + depth * width;
    const Patches patches = of_.patches(image, of_.inputs);
    const int64_t step = of_.groups * of_.outputs * of_.places();
    const float* gradient = floats(memory, gradient_) + sample * step + group * of_.outputs * of_.places();
    if (images > 1) {
      join_images(gradient, step, images, of_.outputs, of_.places(), joined);
      gradient = joined;
    }
    // Of the places that give to an element the later ones are those of earlier elements of the kernel: so the order of its sum hangs
    // on no panel, which may begin anywhere in an image.
    for (int64_t p = (columns - 1) / width * width; p >= 0; p -= width) {
      PanelProduct product;
      product.columns = std::min(width, columns - p);
      of_.products_by->pack({gradient + p, columns, 1}, of_.outputs, product.columns, panel);
      product.left = {floats(memory, weight_) + group * depth * of_.outputs, of_.outputs, 1};
      product.rows = depth;
      product.depth = of_.outputs;
      product.panel = panel;
      product.out = values;
      product.out_row = width;
      of_.products_by->multiply(product);
      for (int64_t k = 0; k < depth; ++k) patch_kernel().add(patches, k, p, product.columns, values + k * width, image);
    }
  }

  Geometry of_;
  Layout gradient_, weight_, bias_, out_;
};

/// by_weight = Σ over samples of gradient · patchesᵀ: each thread its own elements of the kernel, or outputs where these are few,
/// with samples in their order.
class WeightGradient : public Kernel {
 public:
  WeightGradient(const Geometry& geometry, Layout gradient, Layout x, Layout out)
      : of_(geometry), gradient_(std::move(gradient)), x_(std::move(x)), out_(std::move(out)) {}

  void run(Memory memory, const Part& part) const override {
    const int64_t panels = of_.products_by->panels(of_.depth());
    const bool by_outputs = panels * of_.groups < 2 * part.threads && of_.outputs >= part.threads;
    const auto [first, last] =
        by_outputs ? std::pair<int64_t, int64_t>(0, panels * of_.groups) : part.share(panels * of_.groups);
    const auto [row, end] = by_outputs ? part.share(of_.outputs) : std::pair<int64_t, int64_t>(0, of_.outputs);
    if (row == end) return;
    for (int64_t at = first; at < last;) {
      const int64_t group = at / panels, in_group = at % panels;
      const int64_t count = std::min({last - at, panels - in_group, kPatchPanels});
      sum(memory, part, group, in_group, count, row, end);
      at += count;
    }
  }
  int64_t scratch_bytes() const override {
    const int64_t of_images = of_.inputs * of_.padded() + (together() > 1 ? of_.outputs * of_.places() : 0);
    return (together() * of_images + of_.products_by->width * block() + 2 * kSlack) * int64_t(sizeof(float));
  }
  double products() const override { return of_.products(); }
  Str text() const override { return fmt::format("{} convolution, by weight", of_.text()); }

 private:
  int64_t together() const { return of_.together(kPatchDepth); }
  /// Places at a time: whole lines of the output, unless they are long.
  int64_t block() const { return of_.x.out >= kPatchDepth ? kPatchDepth : kPatchDepth / of_.x.out * of_.x.out; }

  /// `count` panels of elements from `first` on, outputs [row, end) of a group.
  void sum(Memory memory, const Part& part, int64_t group, int64_t first, int64_t count, int64_t row,
           int64_t end) const {
    const int64_t width = of_.products_by->width, depth = of_.depth();
    const int64_t from = first * width, elements = std::min(depth - from, count * width);
    const int64_t of_channel = of_.y.kernel * of_.x.kernel;
    const int64_t channel = from / of_channel, channels = (from + elements - 1) / of_channel + 1 - channel;
    auto* const image = reinterpret_cast<float*>(part.scratch);
    float* const panel = image + together() * channels * of_.padded() + kSlack;
    float* const joined = panel + width * block() + kSlack;
    const Patches patches = of_.patches(image, channels);
    PanelProduct product;
    product.rows = end - row;
    product.out_row = depth;
    const int64_t step = of_.groups * of_.outputs * of_.places();
    for (int64_t sample = 0; sample < of_.samples; sample += together()) {
      const int64_t images = std::min(together(), of_.samples - sample), columns = images * of_.places();
      for (int64_t i = 0; i < images; ++i) {
        const int64_t in = ((sample + i) * of_.groups + group) * of_.inputs + channel;
        of_.pad(floats(memory, x_) + in * of_.image(), channels, image + i * channels * of_.padded());
      }
      const float* gradient = floats(memory, gradient_) + sample * step + (group * of_.outputs + row) * of_.places();
      if (images > 1) {
        join_images(gradient, step, images, product.rows, of_.places(), joined);
        gradient = joined;
      }
      for (int64_t p = 0; p < columns; p += block()) {
        product.adds = sample > 0 || p > 0;
        product.depth = std::min(block(), columns - p);
        product.left = {gradient + p, columns, 1};
        product.panel = panel;
        for (int64_t k = 0; k < elements; k += width) {
          product.columns = std::min(width, elements - k);
          patch_kernel().by_elements(patches, from + k - channel * of_channel, product.columns, p, product.depth,
                                     panel);
          of_.products_by->settle(panel, product.depth);
          product.out = floats(memory, out_) + (group * of_.outputs + row) * depth + from + k;
          of_.products_by->multiply(product);
        }
      }
    }
  }

  Geometry of_;
  Layout gradient_, x_, out_;
};

/// The weight [groups · outputs, inputs, ky, kx] as gradients by x see it: turned around, [groups · inputs, outputs, ky, kx]; or, for
/// places that spread, [groups, inputs · ky · kx, outputs].
class TurnedWeight : public Kernel {
 public:
  TurnedWeight(const Geometry& geometry, Layout weight, Layout out, bool spreads)
      : of_(geometry), weight_(std::move(weight)), out_(std::move(out)), spreads_(spreads) {}

  void run(Memory memory, const Part& part) const override {
    const int64_t kernel = of_.y.kernel * of_.x.kernel;
    const auto [begin, end] = part.share(of_.groups * of_.inputs);
    for (int64_t at = begin; at < end; ++at) {
      const int64_t group = at / of_.inputs, c = at % of_.inputs;
      for (int64_t o = 0; o < of_.outputs; ++o) {
        const float* const from = floats(memory, weight_) + ((group * of_.outputs + o) * of_.inputs + c) * kernel;
        float* const to = floats(memory, out_) + at * kernel * of_.outputs + (spreads_ ? o : o * kernel);
        for (int64_t k = 0; k < kernel; ++k) to[spreads_ ? k * of_.outputs : k] = from[spreads_ ? k : kernel - 1 - k];
      }
    }
  }
  Str text() const override { return "weight of a convolution turned around"; }

 private:
  Geometry of_;
  Layout weight_, out_;
  bool spreads_;
};

/// A number for each axis, where one number may stand for all.
Ints each_axis(const Node& node, size_t argument) {
  const auto* const one = std::get_if<int64_t>(&node.arguments[argument]);
  return one != nullptr ? Ints{*one} : node.host<Ints>(argument);
}

/// What a convolution of lines or images does beside its weight.
struct Steps {
  Ints stride, front, behind, dilation;
};
/// `padding` of both ends of each axis.
Steps steps_of(Ints stride, const Ints& padding, Ints dilation) {
  Steps steps{std::move(stride), {}, {}, std::move(dilation)};
  for (size_t i = 0; i + 1 < padding.size(); i += 2) {
    steps.front.push_back(padding[i]);
    steps.behind.push_back(padding[i + 1]);
  }
  return steps;
}

/// Of a convolution of `in`; nothing where it is of more than two axes.
Option<Geometry> geometry_of(const kernels::ProductKernel& products_by, int64_t groups, const Layout& in,
                             const Layout& weight, const Layout& out, const Steps& steps) {
  const size_t axes = in.sizes.size() - 2;
  if (axes < 1 || axes > 2 || steps.front.size() != axes) return std::nullopt;
  Geometry of;
  of.products_by = &products_by;
  of.samples = in.sizes[0];
  of.groups = groups;
  of.inputs = weight.sizes[1];
  of.outputs = weight.sizes[0] / of.groups;
  Axis* const axis[] = {axes == 2 ? &of.y : &of.x, &of.x};
  for (size_t i = 0; i < axes; ++i) {
    if (steps.behind[i] < 0) return std::nullopt;
    *axis[i] = {in.sizes[i + 2],   out.sizes[i + 2], weight.sizes[i + 2], steps.stride[i],
                steps.dilation[i], steps.front[i],   steps.behind[i]};
  }
  return of;
}

/// What a gradient by x convolves: the gradient with borders, of which one place is one step.
Option<Geometry> turned(const Geometry& of) {
  Geometry back = of;
  std::swap(back.inputs, back.outputs);
  for (auto [to, from] : {std::pair(&back.y, &of.y), std::pair(&back.x, &of.x)}) {
    const int64_t reach = from->dilation * (from->kernel - 1);
    if (from->stride != 1 || from->front > reach || from->behind > reach) return std::nullopt;
    *to = {from->out, from->in, from->kernel, 1, from->dilation, reach - from->front, reach - from->behind};
  }
  return back;
}

}  // namespace

/// Why its kernel is the one that it is.
static Str why_so(const Geometry& of) {
  if (fits_lanes(of)) return "images are small, and samples fill vectors";
  const Str no_tiles = why_no_tiles(of);
  return no_tiles.empty() ? Str("16 products in place of 36 for each tile") : no_tiles;
}

void convolve(Lowering& to, const Geometry& of, const Layout& x, const Layout& weight, const Layout& bias,
              const Layout& out, const char* name) {
  to.because(why_so(of));
  if (fits_winograd(of)) return convolve_by_tiles(to, of, x, weight, false, bias, out, name);
  if (fits_lanes(of)) return convolve_in_lanes(to, of, x, weight, bias, out);
  Call call;
  call.split = Split::Samples;
  call.reads = {to.touched(x, true), {weight.root, false}};
  if (bias.root != kNone) call.reads.push_back({bias.root, false});
  call.writes = {to.touched(out, true)};
  call.kernel = std::make_unique<Convolution>(of, x, weight, bias, out, name);
  to.add(std::move(call));
}

void convolve_back(Lowering& to, const Geometry& of, const Layout& from, const Layout& weight, const Layout& bias,
                   const Layout& out) {
  const Option<Geometry> back = turned(of);
  to.because(back && !fits_lanes(of) ? why_so(*back) : fits_lanes(of) ? why_so(of) : "tiles are for stride 1");
  if (fits_lanes(of)) return convolve_back_in_lanes(to, of, from, weight, bias, out);
  if (back && fits_winograd(*back))
    return convolve_by_tiles(to, *back, from, weight, true, bias, out, "convolution, by input");
  const int64_t elements = weight.count();
  const Layout around = dense(to.temporary(DType::F32, elements), {elements});
  Call turn;
  turn.split = Split::Shares;
  turn.reads = {{weight.root, false}};
  turn.writes = {{around.root, false}};
  turn.kernel = std::make_unique<TurnedWeight>(of, weight, around, !back);
  to.add(std::move(turn));
  if (back) return convolve(to, *back, from, around, bias, out, "convolution, by input");
  Call call;
  call.split = Split::Samples;
  call.reads = {to.touched(from, true), {around.root, false}};
  if (bias.root != kNone) call.reads.push_back({bias.root, false});
  call.writes = {to.touched(out, true)};
  call.kernel = std::make_unique<SpreadPatches>(of, from, around, bias, out);
  to.add(std::move(call));
}

void sum_weight(Lowering& to, const Geometry& of, const Layout& gradient, const Layout& x, const Layout& out) {
  to.because(why_so(of));
  if (fits_winograd(of)) return weight_gradient_by_tiles(to, of, gradient, x, out);
  if (fits_lanes(of)) return weight_gradient_in_lanes(to, of, gradient, x, out);
  Call call;
  call.split = Split::Shares;
  call.reads = {{gradient.root, false}, {x.root, false}};
  call.writes = {{out.root, false}};
  call.kernel = std::make_unique<WeightGradient>(of, gradient, x, out);
  to.add(std::move(call));
}

namespace {

/// A layer; a transposed one is the gradient by input of a convolution from its result to x.
bool forward(Lowering& to, bool is_transposed) {
  const ValueId x = to.argument(0), weight = to.argument(1), bias = to.argument(2);
  if (!to.is_f32({x, weight, bias})) return false;
  const Node& node = to.node();
  const Layout given = to.layout(x), out = to.layout(to.result());
  Steps steps;
  if (is_transposed) {
    steps = {each_axis(node, 3), each_axis(node, 4), each_axis(node, 4), each_axis(node, 7)};
    const Ints more = each_axis(node, 5);
    for (size_t i = 0; i < more.size(); ++i) steps.behind[i] -= more[i];
  } else {
    steps = steps_of(each_axis(node, 3), node.host<Ints>(4), each_axis(node, 5));
  }
  const Option<Geometry> of = geometry_of(to.products(), node.host<int64_t>(6), is_transposed ? out : given,
                                          to.layout(weight), is_transposed ? given : out, steps);
  if (!of || !to.is_apart(out) || !to.is_apart(given)) return false;
  const Layout in = to.side_by_side(given, DType::F32), w = to.side_by_side(to.layout(weight), DType::F32);
  const Layout b = bias == kNone ? Layout() : to.side_by_side(to.layout(bias), DType::F32);
  if (is_transposed)
    convolve_back(to, *of, in, w, b, out);
  else
    convolve(to, *of, in, w, b, out, "convolution");
  return true;
}

bool backward(Lowering& to) {
  const Node& node = to.node();
  if (!to.is_f32({to.argument(0), to.argument(1), to.argument(2)})) return false;
  const Layout dy = to.layout(to.argument(0)), x = to.layout(to.argument(1));
  const bool is_transposed = node.host<bool>(6);
  Steps steps = steps_of(node.host<Ints>(3), node.host<Ints>(4), node.host<Ints>(5));
  const Ints& more = node.host<Ints>(7);
  for (size_t i = 0; i < steps.behind.size() && is_transposed; ++i) steps.behind[i] -= more[i];
  const Option<Geometry> of = geometry_of(to.products(), node.host<int64_t>(8), is_transposed ? dy : x,
                                          to.layout(to.argument(2)), is_transposed ? x : dy, steps);
  if (!of || !to.is_apart(dy) || !to.is_apart(x)) return false;
  const Layout gradient = to.side_by_side(dy, DType::F32), in = to.side_by_side(x, DType::F32);
  if (node.results[0] != kNone) {
    const Layout weight = to.side_by_side(to.layout(to.argument(2)), DType::F32), out = to.layout(node.results[0]);
    if (is_transposed)
      convolve(to, *of, gradient, weight, Layout(), out, "convolution, by input");
    else
      convolve_back(to, *of, gradient, weight, Layout(), out);
  }
  if (node.results[1] != kNone)
    sum_weight(to, *of, is_transposed ? in : gradient, is_transposed ? gradient : in, to.layout(node.results[1]));
  return true;
}

}  // namespace

bool lower_convolution(Lowering& to) {
  switch (to.node().op) {
    case Op::conv1d:
    case Op::conv2d: return forward(to, false);
    case Op::conv_transpose1d:
    case Op::conv_transpose2d: return forward(to, true);
    case Op::conv_backward: return backward(to);
    default: return false;
  }
}

}  // namespace ltr::plan
