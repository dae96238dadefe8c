// Convolutions of images by kernels of 3 x 3, as sums of tiles of 2 x 2 places.

#include "runtime/kernels/winograd.h"

#include "runtime/kernels/product.h"
#include "runtime/plan/cpu/lower/convolution.h"

namespace ltr::plan {

namespace {

using kernels::PanelProduct;
using kernels::Phases;
using kernels::ProductKernel;
using kernels::Sums;
using kernels::WinogradKernel;

const WinogradKernel& tile_kernel(const Geometry& of) {
  return of.products_by->narrows() ? kernels::narrow_winograd_kernel() : kernels::winograd_kernel();
}

constexpr int64_t kSums = 16;
/// Tiles for which images are taken together, so that few panels are part empty.
constexpr int64_t kTogether = 160;

/// From one sum to the next, of `count` numbers each: where that is a multiple of a page, what is written of all sums at once would be
/// of the same few lines of the cache.
int64_t step_of(int64_t count) { return count + 16; }

int64_t rounded(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

/// Tiles of several images, one below the other.
struct Tiles {
  int64_t lines = 0, columns = 0;
  int64_t panel = 0;  ///< its width

  explicit Tiles(const Geometry& of)
      : lines((of.y.out + 1) / 2), columns((of.x.out + 1) / 2), panel(of.products_by->width) {}

  int64_t pitch() const { return columns + 1; }
  /// From one image to the next.
  int64_t image() const { return (lines + 1) * pitch(); }
  int64_t count(int64_t images) const { return images * image() - pitch(); }
  /// Of `images` in phases, with what reading whole vectors touches behind them.
  int64_t phase(int64_t images) const { return images * image() + pitch() + 1 + panel; }
  int64_t together(int64_t samples) const { return std::clamp<int64_t>(kTogether / image(), 1, samples); }
};

/// Channels [first, first + count) of `images`, one below the other; `is_first` of as many, or zeros are behind them already.
void split(const float* from, int64_t step, int64_t images, int64_t count, const Tiles& tiles, kernels::Plane plane,
           const Phases& to, bool is_first) {
  const int64_t end = images * tiles.image();
  for (int64_t c = 0; c < count; ++c) {
    float* const channel = to.at + c * 4 * to.size;
    for (int64_t i = 0; i < images; ++i) {
      plane.at = from + i * step + c * plane.height * plane.width;
      kernels::winograd_kernel().split(plane, tiles.lines + 1, {channel + i * tiles.image(), to.size, to.pitch});
    }
    for (int64_t phase = 0; is_first && phase < 4; ++phase)
      std::memset(channel + phase * to.size + end, 0, size_t(to.size - end) * sizeof(float));
  }
}

kernels::Plane input_plane(const Geometry& of) { return {nullptr, of.y.in, of.x.in, of.y.front, of.x.front}; }

/// G g Gᵀ of each kernel of [groups · outputs, inputs, 3, 3], for each sum as the tiles of rows that products read; or, of
/// [groups · inputs, outputs, 3, 3], of each kernel turned around.
class TileWeight : public Kernel {
 public:
  TileWeight(const Geometry& geometry, Layout weight, bool is_turned, Layout out)
      : of_(geometry), weight_(std::move(weight)), is_turned_(is_turned), out_(std::move(out)) {}

  /// Of one sum.
  static int64_t elements(const Geometry& of) {
    return rounded(of.outputs, of.products_by->rows) * of.products_by->lines(of.inputs);
  }

  /// Each thread its own tiles of rows.
  void run(Memory memory, const Part& part) const override {
    const ProductKernel& kernel = *of_.products_by;
    const int64_t tiles = (of_.outputs + kernel.rows - 1) / kernel.rows, of_tile = kernel.rows * of_.inputs;
    const auto [begin, end] = part.share(of_.groups * tiles);
    auto* const all = reinterpret_cast<float*>(part.scratch);
    for (int64_t at = begin; at < end; ++at) {
      const int64_t group = at / tiles, first = at % tiles * kernel.rows;
      const int64_t rows = std::min(kernel.rows, of_.outputs - first);
      for (int64_t row = 0; row < rows; ++row) turn(memory, group, first + row, all + row);
      float* const to = floats(memory, out_) + group * kSums * elements(of_) + first * kernel.lines(of_.inputs);
      for (int64_t sum = 0; sum < kSums; ++sum)
        kernel.pack_rows({all + sum * of_tile, 1, kernel.rows}, rows, of_.inputs, to + sum * elements(of_));
    }
  }
  int64_t scratch_bytes() const override {
    return (kSums * of_.products_by->rows * of_.inputs + 16) * int64_t(sizeof(float));
  }
  Str text() const override { return "weight of a convolution for tiles"; }

 private:
  /// Row `o`, as a column of tiles [sum][input][row].
  void turn(Memory memory, int64_t group, int64_t o, float* to) const {
    const int64_t rows = of_.products_by->rows, step = rows * of_.inputs;
    const float* kernel =
        floats(memory, weight_) +
        (is_turned_ ? group * of_.inputs * of_.outputs + o : (group * of_.outputs + o) * of_.inputs) * 9;
    for (int64_t c = 0; c < of_.inputs; ++c, kernel += 9 * (is_turned_ ? of_.outputs : 1), to += rows) {
      float g[9], half[4][3];
      for (int i = 0; i < 9; ++i) g[i] = kernel[is_turned_ ? 8 - i : i];
      for (int j = 0; j < 3; ++j) {
        const float ends = g[j] + g[6 + j];
        half[0][j] = g[j];
        half[1][j] = 0.5F * (ends + g[3 + j]);
        half[2][j] = 0.5F * (ends - g[3 + j]);
        half[3][j] = g[6 + j];
      }
      for (int i = 0; i < 4; ++i) {
        float* const row = to + 4 * i * step;
        const float ends = half[i][0] + half[i][2];
        row[0] = half[i][0];
        row[step] = 0.5F * (ends + half[i][1]);
        row[2 * step] = 0.5F * (ends - half[i][1]);
        row[3 * step] = half[i][2];
      }
    }
  }

  Geometry of_;
  Layout weight_;
  bool is_turned_;
  Layout out_;
};

/// out = bias + weight * x, each thread its own samples.
class TileConvolution : public Kernel {
 public:
  TileConvolution(const Geometry& geometry, Layout x, Layout weight, Layout bias, Layout out, const char* name)
      : of_(geometry),
        tiles_(geometry),
        x_(std::move(x)),
        weight_(std::move(weight)),
        bias_(std::move(bias)),
        out_(std::move(out)),
        name_(name) {}

  void run(Memory memory, const Part& part) const override {
    const auto [begin, end] = part.of(of_.samples);
    const int64_t together = tiles_.together(of_.samples);
    for (int64_t sample = begin; sample < end; sample += together) {
      const int64_t images = std::min(together, end - sample);
      for (int64_t group = 0; group < of_.groups; ++group) {
        const bool is_first = group == 0 && (sample == begin || images < together);
        convolve(memory, part, sample, images, group, is_first);
      }
    }
  }
  int64_t scratch_bytes() const override {
    const int64_t phase = tiles_.phase(tiles_.together(of_.samples));
    const int64_t width = of_.products_by->width;
    return (4 * phase * (of_.inputs + of_.outputs) +
            kSums * (step_of(of_.products_by->lines(of_.inputs) * width) + step_of(of_.outputs * width))) *
           int64_t(sizeof(float));
  }
  double products() const override { return of_.products(); }
  Str text() const override { return fmt::format("{} {} by tiles", of_.text(), name_); }

 private:
  void convolve(Memory memory, const Part& part, int64_t sample, int64_t images, int64_t group, bool is_first) const {
    const ProductKernel& kernel = *of_.products_by;
    const int64_t width = kernel.width, phase = tiles_.phase(images), places = of_.places();
    Phases in{reinterpret_cast<float*>(part.scratch), phase, tiles_.pitch()};
    Phases out{in.at + 4 * phase * of_.inputs, phase, tiles_.pitch()};
    const Sums read{out.at + 4 * phase * of_.outputs, step_of(kernel.lines(of_.inputs) * width), width};
    const Sums sums{read.at + kSums * read.step, step_of(of_.outputs * width), width};
    const int64_t in_step = of_.groups * of_.inputs * of_.image(), out_step = of_.groups * of_.outputs * places;
    split(floats(memory, x_) + sample * in_step + group * of_.inputs * of_.image(), in_step, images, of_.inputs, tiles_,
          input_plane(of_), in, is_first);
    PanelProduct product;
    product.rows = of_.outputs;
    product.depth = of_.inputs;
    product.columns = product.out_row = width;
    const int64_t of_sum = TileWeight::elements(of_);
    const float* const bias = bias_.root == kNone ? nullptr : floats(memory, bias_) + group * of_.outputs;
    for (int64_t first = 0; first < tiles_.count(images); first += width) {
      tile_kernel(of_).read_lines(in, of_.inputs, first, width, read);
      for (int64_t sum = 0; sum < kSums; ++sum) {
        product.words = kernel.tiles(floats(memory, weight_) + (group * kSums + sum) * of_sum, of_.inputs);
        product.panel = read.at + sum * read.step;
        product.out = sums.at + sum * sums.step;
        kernel.multiply(product);
      }
      tile_kernel(of_).write(sums, of_.outputs, first, width, bias, out);
    }
    for (int64_t i = 0; i < images; ++i) {
      float* to = floats(memory, out_) + (sample + i) * out_step + group * of_.outputs * places;
      for (int64_t o = 0; o < of_.outputs; ++o, to += places) {
        tile_kernel(of_).join({out.at + o * 4 * phase + i * tiles_.image(), phase, tiles_.pitch()}, of_.y.out,
                              of_.x.out, to);
      }
    }
  }

  Geometry of_;
  Tiles tiles_;
  Layout x_, weight_, bias_, out_;
  const char* name_;
};

/// The gradient of the weight, from sums over the tiles of all samples in their order: each thread its own inputs, or outputs.
class TileWeightGradient : public Kernel {
 public:
  TileWeightGradient(const Geometry& geometry, Layout gradient, Layout x, Layout sums, Layout out)
      : of_(geometry),
        tiles_(geometry),
        gradient_(std::move(gradient)),
        x_(std::move(x)),
        sums_(std::move(sums)),
        out_(std::move(out)) {}

  void run(Memory memory, const Part& part) const override {
    // What is not divided, all threads read: tiles of inputs are the longer work, by their turning into panels, of which a part
    // is worth half of a whole one.
    const bool has_whole_panels = of_.inputs >= part.threads * of_.products_by->width;
    const bool by_outputs = of_.outputs > 2 * of_.inputs || (!has_whole_panels && of_.outputs >= 2 * part.threads);
    Range range{0, of_.inputs, 0, of_.outputs};
    auto& begin = by_outputs ? range.output : range.input;
    auto& end = by_outputs ? range.output_end : range.input_end;
    std::tie(begin, end) = part.share(end);
    if (begin == end) return;
    for (int64_t group = 0; group < of_.groups; ++group) {
      sum(memory, part, group, range);
      finish(memory, group, range);
    }
  }
  int64_t scratch_bytes() const override {
    const int64_t phase = tiles_.phase(tiles_.together(of_.samples));
    return (4 * phase * (of_.inputs + of_.outputs) +
            kSums * (step_of(of_.inputs * chunk()) + step_of(of_.outputs * chunk())) +
            chunk() * of_.products_by->width) *
           int64_t(sizeof(float));
  }
  double products() const override { return of_.products(); }
  Str text() const override { return fmt::format("{} convolution, by weight by tiles", of_.text()); }

 private:
  struct Range {
    int64_t input, input_end, output, output_end;
    int64_t inputs() const { return input_end - input; }
    int64_t outputs() const { return output_end - output; }
  };

  /// Tiles at a time: enough for products, few enough to stay in caches.
  int64_t chunk() const {
    const int64_t lanes = tile_kernel(of_).lanes, all = tiles_.count(tiles_.together(of_.samples));
    return rounded(std::min(all, std::clamp<int64_t>(16384 / (of_.inputs + of_.outputs), 64, 192)), lanes);
  }

  void sum(Memory memory, const Part& part, int64_t group, const Range& range) const {
    const int64_t together = tiles_.together(of_.samples), width = of_.products_by->width, most = chunk();
    const int64_t phase = tiles_.phase(together), places = of_.places();
    const Phases in{reinterpret_cast<float*>(part.scratch), phase, tiles_.pitch()};
    const Phases out{in.at + 4 * phase * range.inputs(), phase, tiles_.pitch()};
    const int64_t words = of_.products_by->lines(most);
    const Sums read{out.at + 4 * phase * range.outputs(), step_of(range.inputs() * words), words};
    const Sums spread{read.at + kSums * read.step, step_of(range.outputs() * words), words};
    float* const panel = spread.at + kSums * spread.step;
    const int64_t in_step = of_.groups * of_.inputs * of_.image(), out_step = of_.groups * of_.outputs * places;
    PanelProduct product;
    product.rows = range.outputs();
    product.panel = panel;
    product.out_row = of_.inputs;
    for (int64_t sample = 0; sample < of_.samples; sample += together) {
      const int64_t images = std::min(together, of_.samples - sample), count = tiles_.count(images);
      const bool is_first = sample == 0 || images < together;
      split(floats(memory, x_) + sample * in_step + (group * of_.inputs + range.input) * of_.image(), in_step, images,
            range.inputs(), tiles_, input_plane(of_), in, is_first);
      split(floats(memory, gradient_) + sample * out_step + (group * of_.outputs + range.output) * places, out_step,
            images, range.outputs(), tiles_, {nullptr, of_.y.out, of_.x.out}, out, is_first);
      for (int64_t first = 0; first < count; first += most) {
        product.depth = std::min(most, rounded(count - first, tile_kernel(of_).lanes));
        product.adds = sample > 0 || first > 0;
        tile_kernel(of_).read_rows(in, range.inputs(), first, product.depth, read);
        tile_kernel(of_).spread_rows(out, range.outputs(), first, product.depth, spread);
        for (int64_t sum = 0; sum < kSums; ++sum) {
          product.words = {spread.at + sum * spread.step, words, 1, words};
          float* const to = sum_of(memory, group, sum) + range.output * of_.inputs + range.input;
          for (int64_t c = 0; c < range.inputs(); c += width) {
            product.columns = std::min(width, range.inputs() - c);
            // Words move as floats do.
            kernels::product_kernel().pack({read.at + sum * read.step + c * words, 1, words},
                                           of_.products_by->lines(product.depth), product.columns, panel);
            product.out = to + c;
            of_.products_by->multiply(product);
          }
        }
      }
    }
  }

  /// Gᵀ u G of each kernel.
  void finish(Memory memory, int64_t group, const Range& range) const {
    const int64_t step = of_.outputs * of_.inputs;
    for (int64_t o = range.output; o < range.output_end; ++o) {
      const float* from = sum_of(memory, group, 0) + o * of_.inputs + range.input;
      float* to = floats(memory, out_) + ((group * of_.outputs + o) * of_.inputs + range.input) * 9;
      for (int64_t c = range.input; c < range.input_end; ++c, ++from, to += 9) {
        float half[3][4];
        for (int j = 0; j < 4; ++j) {
          const float *const u = from + j * step, middle = 0.5F * (u[4 * step] + u[8 * step]);
          half[0][j] = u[0] + middle;
          half[1][j] = 0.5F * (u[4 * step] - u[8 * step]);
          half[2][j] = u[12 * step] + middle;
        }
        for (int i = 0; i < 3; ++i) {
          const float middle = 0.5F * (half[i][1] + half[i][2]);
          to[3 * i] = half[i][0] + middle;
          to[3 * i + 1] = 0.5F * (half[i][1] - half[i][2]);
          to[3 * i + 2] = half[i][3] + middle;
        }
      }
    }
  }

  float* sum_of(Memory memory, int64_t group, int64_t sum) const {
    return floats(memory, sums_) + (group * kSums + sum) * of_.outputs * of_.inputs;
  }

  Geometry of_;
  Tiles tiles_;
  Layout gradient_, x_, sums_, out_;
};

}  // namespace

Str why_no_tiles(const Geometry& of) {
  // Below these, what turning into tiles and back costs is more than what the products save.
  constexpr int64_t kChannels = 16, kTiles = 4;
  const Tiles tiles(of);
  if (of.y.kernel != 3 || of.x.kernel != 3) return "tiles are for 3 x 3";
  if (of.y.stride != 1 || of.x.stride != 1) return "tiles are for stride 1";
  if (of.y.dilation != 1 || of.x.dilation != 1) return "tiles are for dilation 1";
  if (const int64_t channels = std::min(of.inputs, of.outputs); channels < kChannels)
    return fmt::format("tiles begin at {} channels, not {}", kChannels, channels);
  if (std::min(tiles.lines, tiles.columns) < kTiles)
    return fmt::format("tiles begin at {0} x {0} of them, not {1} x {2}", kTiles, tiles.lines, tiles.columns);
  return {};
}

bool fits_winograd(const Geometry& of) { return why_no_tiles(of).empty(); }

void convolve_by_tiles(Lowering& to, const Geometry& of, const Layout& x, const Layout& weight, bool is_turned,
                       const Layout& bias, const Layout& out, const char* name) {
  const int64_t elements = of.groups * kSums * TileWeight::elements(of);
  const Layout for_tiles = dense(to.temporary(DType::F32, elements), {elements});
  Call turn;
  turn.split = Split::Shares;
  turn.reads = {{weight.root, false}};
  turn.writes = {{for_tiles.root, false}};
  turn.kernel = std::make_unique<TileWeight>(of, weight, is_turned, for_tiles);
  to.add(std::move(turn));
  Call call;
  call.split = Split::Samples;
  call.reads = {to.touched(x, true), {for_tiles.root, false}};
  if (bias.root != kNone) call.reads.push_back({bias.root, false});
  call.writes = {to.touched(out, true)};
  call.kernel = std::make_unique<TileConvolution>(of, x, for_tiles, bias, out, name);
  to.add(std::move(call));
}

void weight_gradient_by_tiles(Lowering& to, const Geometry& of, const Layout& gradient, const Layout& x,
                              const Layout& out) {
  const int64_t elements = of.groups * kSums * of.outputs * of.inputs;
  const Layout sums = dense(to.temporary(DType::F32, elements), {elements});
  Call call;
  call.split = Split::Shares;
  call.reads = {{gradient.root, false}, {x.root, false}};
  call.writes = {{sums.root, false}, {out.root, false}};
  call.kernel = std::make_unique<TileWeightGradient>(of, gradient, x, sums, out);
  to.add(std::move(call));
}

}  // namespace ltr::plan
