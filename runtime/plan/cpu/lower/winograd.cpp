// Convolutions of images by kernels of 3 x 3, as sums of tiles of 2 x 2 places.

#include "runtime/kernels/winograd.h"

#include "runtime/kernels/product.h"
#include "runtime/plan/cpu/lower/convolution.h"

namespace ltr::plan {

namespace {

using kernels::Elements;
using kernels::PanelProduct;
using kernels::Plane;
using kernels::ProductKernel;
using kernels::Sums;
using kernels::TileLines;
using kernels::WinogradKernel;

const WinogradKernel& tile_kernel(const Geometry& of) {
  return of.products_by->narrows() ? kernels::narrow_winograd_kernel() : kernels::winograd_kernel();
}

constexpr int64_t kSums = 16;

/// From one sum to the next, of `count` numbers each: where that is a multiple of a page, what is written of all sums at once would be
/// of the same few lines of the cache.
int64_t step_of(int64_t count) { return count + 16; }

int64_t rounded(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

/// Of pieces of `tiles` tiles as many as make from `least` tiles on to twice that, so that of whole steps least is empty.
int64_t pieces(int64_t tiles, int64_t all, int64_t least, int64_t step) {
  int64_t best = 1;
  const auto filled = [&](int64_t count) { return double(count * tiles) / double(rounded(count * tiles, step)); };
  for (int64_t count = 1; count <= all && (count - 1) * tiles < 2 * least; ++count) {
    const bool is_more = best * tiles < least;
    if (is_more || (filled(count) > filled(best) && count * tiles <= 2 * least)) best = count;
  }
  return best;
}

/// The tiles that are taken at a time: those of whole images, or of some lines of one.
struct Tiles {
  int64_t columns = 0, all_lines = 0;
  int64_t images = 1, lines = 0;
  int64_t step = 0;  ///< what their number is rounded to

  Tiles(const Geometry& of, int64_t least, int64_t to)
      : columns((of.x.out + 1) / 2), all_lines((of.y.out + 1) / 2), lines(all_lines), step(to) {
    if (columns * all_lines <= least)
      images = pieces(columns * all_lines, of.samples, least, step);
    else
      lines = pieces(columns, all_lines, least, step);
  }

  int64_t most() const { return rounded(images * lines * columns, step); }
  /// Of an element, with what is written behind the last.
  int64_t size() const { return most() + step; }

  /// Calls `body(sample, images, lines)` for all of the samples [begin, end).
  template <class Body>
  void for_each(int64_t begin, int64_t end, const Body& body) const {
    for (int64_t sample = begin; sample < end; sample += images) {
      for (int64_t line = 0; line < all_lines; line += lines)
        body(sample, std::min(images, end - sample), TileLines{line, std::min(lines, all_lines - line), columns});
    }
  }
};

/// Elements of one channel of `images`, `image` apart, zeros behind them up to whole steps.
template <class Read>
void read_images(const Read& read, Plane plane, int64_t image, int64_t images, const TileLines& lines, int64_t step,
                 int64_t elements, const Elements& to) {
  for (int64_t i = 0; i < images; ++i, plane.at += image) read(plane, lines, {to.at + i * lines.count(), to.size});
  const int64_t count = images * lines.count();
  for (int64_t e = 0; e < elements && count % step != 0; ++e)
    std::fill_n(to.at + e * to.size + count, rounded(count, step) - count, 0.0F);
}

/// Whether `read` could take each of the images as it lies; all of them are alike in that.
template <class Read>
bool all_of_images(Plane plane, int64_t image, int64_t images, const Read& read) {
  for (int64_t i = 0; i < images; ++i, plane.at += image) {
    if (!read(plane, i)) return false;
  }
  return true;
}

/// A channel of what a convolution reads.
Plane input_plane(const Geometry& of, const float* at) { return {at, of.y.in, of.x.in, of.y.front, of.x.front}; }

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
    const int64_t of_tile = of_.products_by->rows, tiles = (of_.outputs + of_tile - 1) / of_tile;
    const auto [begin, end] = part.share(of_.groups * tiles);
    for (int64_t at = begin; at < end; ++at) {
      const int64_t group = at / tiles, row = at % tiles * of_tile;
      kernels::Kernels kernels{floats(memory, weight_) + group * of_.inputs * of_.outputs * 9, of_.inputs * 9, 9,
                               false};
      if (is_turned_) kernels = {kernels.at, 9, of_.outputs * 9, true};
      kernels.at += row * kernels.row;
      float* const to = floats(memory, out_) + group * kSums * elements(of_) + row * of_.products_by->lines(of_.inputs);
      tile_kernel(of_).sum_kernels(kernels, std::min(of_tile, of_.outputs - row), of_.inputs, of_tile,
                                   {to, elements(of_)});
    }
  }
  Str text() const override { return "weight of a convolution for tiles"; }

 private:
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
        tiles_(geometry, std::clamp<int64_t>(kNumbers / geometry.inputs, 64, 256), geometry.products_by->width),
        x_(std::move(x)),
        weight_(std::move(weight)),
        bias_(std::move(bias)),
        out_(std::move(out)),
        name_(name) {}

  void run(Memory memory, const Part& part) const override {
    const auto [begin, end] = part.of(of_.samples);
    tiles_.for_each(begin, end, [&](int64_t sample, int64_t images, const TileLines& lines) {
      for (int64_t group = 0; group < of_.groups; ++group) convolve(memory, part, sample, images, lines, group);
    });
  }
  int64_t scratch_bytes() const override {
    const int64_t read =
        kSums * (tile_kernel(of_).depth * tiles_.size() + step_of(of_.products_by->lines(of_.inputs) * tiles_.most()));
    return (read + 4 * tiles_.size() + kSums * step_of(rows() * tiles_.most())) * int64_t(sizeof(float));
  }
  double products() const override { return of_.products(); }
  Str text() const override { return fmt::format("{} {} by tiles", of_.text(), name_); }

 private:
  /// Numbers that tiles of all channels have for one sum, so that those for all of them stay in a cache.
  static constexpr int64_t kNumbers = 8192;
  /// Outputs at a time: their sums are turned back while they are in a cache.
  int64_t rows() const { return 2 * of_.products_by->rows; }

  void convolve(Memory memory, const Part& part, int64_t sample, int64_t images, const TileLines& lines,
                int64_t group) const {
    const ProductKernel& kernel = *of_.products_by;
    const WinogradKernel& by = tile_kernel(of_);
    const int64_t width = kernel.width, depth = kernel.lines(of_.inputs), places = of_.places();
    const int64_t tiles = rounded(images * lines.count(), width), size = tiles_.size();
    const Elements elements{reinterpret_cast<float*>(part.scratch), size};
    const Elements done{elements.at + kSums * by.depth * size, size};
    const Sums read{done.at + 4 * size, step_of(depth * tiles)};
    const Sums sums{read.at + kSums * read.step, step_of(rows() * tiles)};
    const float* const x = floats(memory, x_) + (sample * of_.groups + group) * of_.inputs * of_.image();
    for (int64_t c = 0; c < of_.inputs; c += by.depth) {
      const int64_t channels = std::min(by.depth, of_.inputs - c), step = of_.groups * of_.inputs * of_.image();
      const Plane plane = input_plane(of_, x + c * of_.image());
      const Sums line{read.at + c / by.depth * width, read.step};
      if (all_of_images(plane, step, images, [&](const Plane& image, int64_t i) {
            return by.sum_image_lines(image, channels, lines, i * lines.count(), width * depth, line);
          }))
        continue;
      for (int64_t k = 0; k < channels; ++k)
        read_images(by.read, input_plane(of_, x + (c + k) * of_.image()), step, images, lines, width, kSums,
                    {elements.at + k * kSums * size, size});
      for (int64_t first = 0; first < tiles; first += width)
        by.sum_lines({elements.at + first, size}, channels, width, {line.at + first * depth, line.step});
    }
    PanelProduct product;
    product.depth = of_.inputs;
    product.columns = width;
    product.out_row = tiles;
    const int64_t of_sum = TileWeight::elements(of_);
    const float* const bias = bias_.root == kNone ? nullptr : floats(memory, bias_) + group * of_.outputs;
    float* const out = floats(memory, out_) + (sample * of_.groups + group) * of_.outputs * places;
    for (int64_t row = 0; row < of_.outputs; row += rows()) {
      product.rows = std::min(rows(), of_.outputs - row);
      for (int64_t sum = 0; sum < kSums; ++sum) {
        const float* const weight = floats(memory, weight_) + (group * kSums + sum) * of_sum + row * depth;
        product.words = kernel.tiles(weight, of_.inputs);
        for (int64_t first = 0; first < tiles; first += width) {
          product.panel = read.at + sum * read.step + first * depth;
          product.out = sums.at + sum * sums.step + first;
          kernel.multiply(product);
        }
      }
      for (int64_t o = row; o < row + product.rows; ++o) {
        by.write({sums.at + (o - row) * tiles, sums.step}, tiles, bias == nullptr ? 0.0F : bias[o], done);
        for (int64_t i = 0; i < images; ++i)
          by.join({done.at + i * lines.count(), size}, lines, of_.y.out, of_.x.out,
                  out + (i * of_.groups * of_.outputs + o) * places);
      }
    }
  }

  Geometry of_;
  Tiles tiles_;
  Layout x_, weight_, bias_, out_;
  const char* name_;
};

/// Those of one of 16 sums, [output][input].
float* sum_of(const Geometry& of, Memory memory, const Layout& sums, int64_t group, int64_t sum) {
  return floats(memory, sums) + (group * kSums + sum) * of.outputs * of.inputs;
}

/// The gradient of the weight, from sums over the tiles of all samples in their order: each thread its own inputs, or outputs.
class TileWeightGradient : public Kernel {
 public:
  TileWeightGradient(const Geometry& geometry, Layout gradient, Layout x, Layout sums)
      : of_(geometry),
        // Enough for products, few enough to stay in caches.
        tiles_(geometry, std::clamp<int64_t>(16384 / (geometry.inputs + geometry.outputs), 64, 192),
               tile_kernel(geometry).lanes),
        gradient_(std::move(gradient)),
        x_(std::move(x)),
        sums_(std::move(sums)) {}

  void run(Memory memory, const Part& part) const override {
    for (int64_t group = 0; group < of_.groups; ++group) sum(memory, part, group, range_of(part));
  }
  int64_t scratch_bytes() const override {
    const int64_t sums = step_of(of_.inputs * words()) + step_of(of_.outputs * words());
    return (kSums * (tiles_.size() + sums) + words() * of_.products_by->width) * int64_t(sizeof(float));
  }
  double products() const override { return of_.products(); }
  Str text() const override { return fmt::format("{} convolution, by weight by tiles", of_.text()); }

 private:
  struct Range {
    int64_t input, input_end, output, output_end;
    int row = 0, row_end = 4;  ///< of 4 × 4 sums
    int64_t inputs() const { return input_end - input; }
    int64_t outputs() const { return output_end - output; }
  };
  /// What is not divided, all threads read: tiles of inputs are the longer work, by their turning into panels, of which a part is worth half
  /// of a whole one. Of few channels it is nearly all of the work, and sums are divided.
  Range range_of(const Part& part) const {
    const bool has_whole_panels = of_.inputs >= part.threads * of_.products_by->width;
    const bool by_outputs = of_.outputs > 2 * of_.inputs || (!has_whole_panels && of_.outputs >= 2 * part.threads);
    Range range{0, of_.inputs, 0, of_.outputs};
    if (of_.inputs <= of_.products_by->width && part.threads <= 4)
      std::tie(range.row, range.row_end) = part.share(range.row_end);
    else if (by_outputs)
      std::tie(range.output, range.output_end) = part.share(of_.outputs);
    else
      std::tie(range.input, range.input_end) = part.share(of_.inputs);
    return range;
  }

  /// Of the tiles that are taken at a time.
  int64_t words() const { return of_.products_by->lines(tiles_.most()); }

  void sum(Memory memory, const Part& part, int64_t group, const Range& range) const {
    if (range.inputs() == 0 || range.outputs() == 0) return;
    const WinogradKernel& by = tile_kernel(of_);
    const int64_t width = of_.products_by->width, places = of_.places(), lanes = by.lanes;
    const Elements elements{reinterpret_cast<float*>(part.scratch), tiles_.size()};
    const Sums read{elements.at + kSums * elements.size, step_of(range.inputs() * words()), range.row, range.row_end};
    const Sums spread{read.at + kSums * read.step, step_of(range.outputs() * words()), range.row, range.row_end};
    float* const panel = spread.at + kSums * spread.step;
    PanelProduct product;
    product.rows = range.outputs();
    product.panel = panel;
    product.out_row = of_.inputs;
    tiles_.for_each(0, of_.samples, [&](int64_t sample, int64_t images, const TileLines& lines) {
      const float* const x = floats(memory, x_) + (sample * of_.groups + group) * of_.inputs * of_.image();
      const float* const gradient = floats(memory, gradient_) + (sample * of_.groups + group) * of_.outputs * places;
      product.depth = rounded(images * lines.count(), lanes);
      const auto row_of = [&](const Sums& row, int64_t image) {
        return Sums{row.at + of_.products_by->lines(image * lines.count()), row.step, row.first, row.last};
      };
      for (int64_t c = range.input; c < range.input_end; ++c) {
        const int64_t step = of_.groups * of_.inputs * of_.image();
        const Plane plane = input_plane(of_, x + c * of_.image());
        const Sums row{read.at + (c - range.input) * words(), read.step, read.first, read.last};
        if (all_of_images(plane, step, images, [&](const Plane& image, int64_t i) {
              return by.sum_image_row(image, lines, row_of(row, i));
            }))
          continue;
        read_images(by.read, plane, step, images, lines, lanes, kSums, elements);
        by.sum_row(elements, product.depth, row);
      }
      for (int64_t o = range.output; o < range.output_end; ++o) {
        const int64_t step = of_.groups * of_.outputs * places;
        const Plane plane{gradient + o * places, of_.y.out, of_.x.out};
        const Sums row{spread.at + (o - range.output) * words(), spread.step, spread.first, spread.last};
        if (all_of_images(plane, step, images, [&](const Plane& image, int64_t i) {
              return by.spread_image_row(image, lines, row_of(row, i));
            }))
          continue;
        read_images(by.read_places, plane, step, images, lines, lanes, 4, elements);
        by.spread_row(elements, product.depth, row);
      }
      for (int64_t sum = 4 * range.row; sum < 4 * range.row_end; ++sum) {
        product.words = {spread.at + sum * spread.step, words(), 1, words()};
        float* const to = sum_of(of_, memory, sums_, group, sum) + range.output * of_.inputs + range.input;
        for (int64_t c = 0; c < range.inputs(); c += width) {
          product.columns = std::min(width, range.inputs() - c);
          // Words move as floats do.
          kernels::product_kernel().pack({read.at + sum * read.step + c * words(), 1, words()},
                                         of_.products_by->lines(product.depth), product.columns, panel);
          product.out = to + c;
          of_.products_by->multiply(product);
        }
      }
      product.adds = true;
    });
  }

  Geometry of_;
  Tiles tiles_;
  Layout gradient_, x_, sums_;
};

/// Gᵀ u G of each kernel, of these sums: each thread its own outputs.
class TileWeightResult : public Kernel {
 public:
  TileWeightResult(const Geometry& geometry, Layout sums, Layout out)
      : of_(geometry), sums_(std::move(sums)), out_(std::move(out)) {}

  void run(Memory memory, const Part& part) const override {
    const auto [begin, end] = part.share(of_.groups * of_.outputs);
    const int64_t step = of_.outputs * of_.inputs;
    for (int64_t at = begin; at < end; ++at) {
      const int64_t group = at / of_.outputs, o = at % of_.outputs;
      const float* from = sum_of(of_, memory, sums_, group, 0) + o * of_.inputs;
      float* to = floats(memory, out_) + at * of_.inputs * 9;
      for (int64_t c = 0; c < of_.inputs; ++c, ++from, to += 9) {
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
  Str text() const override { return "weight of a convolution from tiles"; }

 private:
  Geometry of_;
  Layout sums_, out_;
};

}  // namespace

Str why_no_tiles(const Geometry& of) {
  // Below these, what turning into tiles and back costs is more than what the products save.
  constexpr int64_t kChannels = 16, kTiles = 4;
  const int64_t lines = (of.y.out + 1) / 2, columns = (of.x.out + 1) / 2;
  if (of.y.kernel != 3 || of.x.kernel != 3) return "tiles are for 3 x 3";
  if (of.y.stride != 1 || of.x.stride != 1) return "tiles are for stride 1";
  if (of.y.dilation != 1 || of.x.dilation != 1) return "tiles are for dilation 1";
  if (const int64_t channels = std::min(of.inputs, of.outputs); channels < kChannels)
    return fmt::format("tiles begin at {} channels, not {}", kChannels, channels);
  if (std::min(lines, columns) < kTiles)
    return fmt::format("tiles begin at {0} x {0} of them, not {1} x {2}", kTiles, lines, columns);
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
  call.writes = {{sums.root, false}};
  call.kernel = std::make_unique<TileWeightGradient>(of, gradient, x, sums);
  to.add(std::move(call));
  Call result;
  result.split = Split::Shares;
  result.reads = {{sums.root, false}};
  result.writes = {{out.root, false}};
  result.kernel = std::make_unique<TileWeightResult>(of, sums, out);
  to.add(std::move(result));
}

}  // namespace ltr::plan
