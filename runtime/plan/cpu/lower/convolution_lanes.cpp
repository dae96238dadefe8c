// Convolutions of small images, with samples side by side: a place of the output is a sum of products, one for each element of the kernel
// that meets an element of the image there. What a border would multiply is left out: of 2 x 2 places 5 in 9 products.

#include "runtime/kernels/product.h"
#include "runtime/plan/cpu/lower/convolution.h"

namespace ltr::plan {

namespace {

using kernels::PanelProduct;
using kernels::ProductKernel;
using kernels::SumPart;

/// Inputs of a product: of a tile of rows their weights, for all elements of the kernel, stay in the nearest cache.
constexpr int64_t kLanesDepth = 64;

/// An element of the kernel, and the place that it meets.
struct Meeting {
  int64_t place, element;
};

/// For each place of the result of a convolution, or of its gradient by input, what meets there.
std::vector<std::vector<Meeting>> meetings(const Geometry& of, bool is_gradient) {
  std::vector<std::vector<Meeting>> found(size_t(is_gradient ? of.image() : of.places()));
  const auto place_of = [](const Axis& axis, int64_t out, int64_t element) {
    return out * axis.stride + element * axis.dilation - axis.front;
  };
  for (int64_t y = 0; y < of.y.out; ++y) {
    for (int64_t x = 0; x < of.x.out; ++x) {
      for (int64_t i = 0; i < of.y.kernel; ++i) {
        for (int64_t j = 0; j < of.x.kernel; ++j) {
          const int64_t row = place_of(of.y, y, i), column = place_of(of.x, x, j);
          if (row < 0 || row >= of.y.in || column < 0 || column >= of.x.in) continue;
          const int64_t out = y * of.x.out + x, in = row * of.x.in + column, element = i * of.x.kernel + j;
          if (is_gradient)
            found[size_t(in)].push_back({out, element});
          else
            found[size_t(out)].push_back({in, element});
        }
      }
    }
  }
  return found;
}

/// Images of so many channels and places.
struct Images {
  const ProductKernel* products_by = nullptr;
  int64_t samples = 0, channels = 0, places = 0;
  int64_t elements() const { return channels * places; }
  Str text() const { return fmt::format("[{}, {}, {}]", samples, channels, places); }
};

/// Images as panels of samples: [panel][place][channel][width], as floats, which are a left side of products by samples; or with the lines of
/// panels that products read, those of kLanesDepth channels where their floats would lie.
class JoinedSamples : public Kernel {
 public:
  JoinedSamples(Images images, Layout from, Layout to, bool is_settled)
      : of_(images), from_(std::move(from)), to_(std::move(to)), is_settled_(is_settled) {}

  static int64_t elements(const Images& of) {
    return of.products_by->panels(of.samples) * of.products_by->width * of.elements();
  }

  void run(Memory memory, const Part& part) const override {
    const ProductKernel& kernel = *of_.products_by;
    const int64_t width = kernel.width, block = is_settled_ && kernel.narrows() ? kLanesDepth : 1;
    const auto [first_block, last_block] = part.share((of_.channels + block - 1) / block);
    const int64_t begin = first_block * block, end = std::min(of_.channels, last_block * block);
    if (begin == end) return;
    for (int64_t first = 0; first < of_.samples; first += width) {
      float* const to = floats(memory, to_) + first * of_.elements() + begin * width;
      kernel.join_samples(floats(memory, from_) + first * of_.elements() + begin * of_.places, of_.elements(),
                          std::min(width, of_.samples - first), end - begin, of_.places, to, of_.channels * width);
      if (block == 1) continue;
      for (int64_t place = 0; place < of_.places; ++place) {
        for (int64_t c = begin; c < end; c += block)
          kernel.settle(to + (place * of_.channels + c - begin) * width, std::min(block, end - c));
      }
    }
  }
  Str text() const override { return of_.text() + " samples side by side"; }

 private:
  Images of_;
  Layout from_, to_;
  bool is_settled_;
};

/// Images as panels of channels: [place][panel][sample][width], zeros behind the last channel; the lines of as many samples as a panel
/// is wide lie where their floats would.
class JoinedChannels : public Kernel {
 public:
  JoinedChannels(Images images, Layout from, Layout to, bool /*is_settled*/)
      : of_(images), from_(std::move(from)), to_(std::move(to)) {}

  static int64_t elements(const Images& of) {
    return of.places * of.products_by->panels(of.channels) * of.samples * of.products_by->width;
  }

  void run(Memory memory, const Part& part) const override {
    const int64_t width = of_.products_by->width, panels = of_.products_by->panels(of_.channels);
    const auto [begin, end] = part.share(panels);
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t channel = panel * width, count = std::min(width, of_.channels - channel);
      for (int64_t sample = 0; sample < of_.samples; ++sample) {
        float* const to = floats(memory, to_) + (panel * of_.samples + sample) * width;
        of_.products_by->turn(floats(memory, from_) + sample * of_.elements() + channel * of_.places, of_.places, count,
                              of_.places, to, panels * of_.samples * width);
        for (int64_t place = 0; place < of_.places && count < width; ++place)
          std::fill_n(to + place * panels * of_.samples * width + count, width - count, 0.0F);
      }
      for (int64_t place = 0; place < of_.places; ++place) {
        float* const samples = floats(memory, to_) + (place * panels + panel) * of_.samples * width;
        for (int64_t first = 0; first < of_.samples; first += width)
          of_.products_by->settle(samples + first * width, std::min(width, of_.samples - first));
      }
    }
  }
  Str text() const override { return of_.text() + " channels side by side"; }

 private:
  Images of_;
  Layout from_, to_;
};

/// The weight as tiles of rows that products read, for each element of the kernel: [element][tile][lines][rows].
class ElementTiles : public Kernel {
 public:
  /// Rows of `depth` of each of `elements`, which lie side by side.
  ElementTiles(const ProductKernel& kernel, kernels::Matrix weight, int64_t rows, int64_t depth, int64_t elements,
               Layout from, Layout to)
      : kernel_(kernel),
        weight_(weight),
        rows_(rows),
        depth_(depth),
        elements_(elements),
        from_(std::move(from)),
        to_(std::move(to)) {}

  /// Of one element of the kernel.
  static int64_t words(const ProductKernel& kernel, int64_t rows, int64_t depth) {
    return (rows + kernel.rows - 1) / kernel.rows * kernel.rows * kernel.lines(depth);
  }

  void run(Memory memory, const Part& part) const override {
    const auto [begin, end] = part.share(elements_);
    for (int64_t element = begin; element < end; ++element)
      kernel_.pack_rows({floats(memory, from_) + element, weight_.row, weight_.column}, rows_, depth_,
                        floats(memory, to_) + element * words(kernel_, rows_, depth_));
  }
  Str text() const override { return "weight of a convolution by its elements"; }

 private:
  const ProductKernel& kernel_;
  kernels::Matrix weight_;
  int64_t rows_, depth_, elements_;
  Layout from_, to_;
};

/// What a convolution and its gradient by input are, seen from a place of the result.
struct Places {
  const ProductKernel* products_by = nullptr;
  std::vector<std::vector<Meeting>> meetings;
  int64_t samples = 0, rows = 0, depth = 0, images = 0;  ///< channels of the result and of what meets, and its places
  kernels::Matrix weight;                                ///< without its memory: from one row to the next, and in depth
  double products() const {
    double all = 0;
    for (const auto& list : meetings) all += double(list.size());
    return all * double(samples) * double(rows) * double(depth);
  }
};

/// Each thread its own channels of the result.
class ConvolutionInLanes : public Kernel {
 public:
  ConvolutionInLanes(Places places, Layout lanes, Layout weight, Layout bias, Layout out, Str text)
      : of_(std::move(places)),
        lanes_(std::move(lanes)),
        weight_(std::move(weight)),
        bias_(std::move(bias)),
        out_(std::move(out)),
        text_(std::move(text)) {
    const ProductKernel& kernel = *of_.products_by;
    const int64_t of_element = kernel.narrows() ? ElementTiles::words(kernel, of_.rows, of_.depth) : 1;
    for (const std::vector<Meeting>& list : of_.meetings) {
      parts_.emplace_back();
      for (const Meeting& meeting : list)
        parts_.back().push_back({meeting.element * of_element, meeting.place * of_.depth * kernel.width});
    }
  }

  void run(Memory memory, const Part& part) const override {
    const int64_t tile = of_.products_by->rows, tiles = (of_.rows + tile - 1) / tile;
    const auto [begin, end] = part.share(tiles);
    auto* const sums = reinterpret_cast<float*>(part.scratch);
    for (int64_t at = begin; at < end; ++at) {
      const int64_t row = at * tile, rows = std::min(tile, of_.rows - row);
      for (int64_t first = 0; first < of_.samples; first += of_.products_by->width) {
        multiply(memory, row, rows, first, sums);
        write(memory, row, rows, first, sums);
      }
    }
  }
  int64_t scratch_bytes() const override {
    const int64_t sums = places() * of_.products_by->width, own = is_spread() ? kLanesDepth * of_.weight.row : 0;
    return of_.products_by->rows * (sums + own) * int64_t(sizeof(float));
  }
  double products() const override { return of_.products(); }
  Str text() const override { return text_; }

 private:
  int64_t places() const { return int64_t(of_.meetings.size()); }
  /// Whether what a tile of rows reads of the weight lies in pieces so far apart that they would share a few lines of the cache.
  bool is_spread() const { return of_.weight.column > of_.weight.row && !of_.products_by->narrows(); }

  /// sums [row][place][sample]
  void multiply(Memory memory, int64_t row, int64_t rows, int64_t first, float* sums) const {
    const ProductKernel& kernel = *of_.products_by;
    const int64_t width = kernel.width, lines = kernel.lines(of_.depth);
    const float* const lanes = floats(memory, lanes_) + first * of_.depth * of_.images;
    float* const own = sums + kernel.rows * places() * width;
    PanelProduct product;
    product.rows = rows;
    product.columns = std::min(width, of_.samples - first);
    product.out_row = places() * width;
    for (int64_t from = 0; from < of_.depth; from += kLanesDepth) {
      product.depth = std::min(kLanesDepth, of_.depth - from);
      product.adds = from > 0;
      if (kernel.narrows()) {
        product.words = {floats(memory, weight_) + row * lines + kernel.lines(from) * kernel.rows, 1, kernel.rows,
                         lines};
      } else {
        product.left = {floats(memory, weight_) + row * of_.weight.row + from * of_.weight.column, of_.weight.row,
                        of_.weight.column};
        if (is_spread()) product.left = gathered(product, own);
      }
      for (int64_t place = 0; place < places(); ++place) {
        const auto& parts = parts_[size_t(place)];
        if (parts.empty()) continue;
        product.parts = parts.data();
        product.part_count = int64_t(parts.size());
        product.panel = lanes + from * width;
        product.out = sums + place * width;
        kernel.multiply(product);
      }
    }
  }

  /// The left side of `product`, line by line side by side.
  kernels::Matrix gathered(const PanelProduct& product, float* to) const {
    const int64_t line = product.rows * of_.weight.row;
    for (int64_t k = 0; k < product.depth; ++k)
      std::memcpy(to + k * line, product.left.at + k * of_.weight.column, size_t(line) * sizeof(float));
    return {to, of_.weight.row, line};
  }

  void write(Memory memory, int64_t row, int64_t rows, int64_t first, float* sums) const {
    const int64_t width = of_.products_by->width, count = places(), samples = std::min(width, of_.samples - first);
    for (int64_t r = 0; r < rows; ++r) {
      const float bias = bias_.root == kNone ? 0 : floats(memory, bias_)[row + r];
      for (int64_t place = 0; place < count; ++place) {
        float* const all = sums + (r * count + place) * width;
        if (of_.meetings[size_t(place)].empty()) std::fill_n(all, width, 0.0F);
        if (bias == 0) continue;
        for (int64_t i = 0; i < width; ++i) all[i] += bias;
      }
    }
    of_.products_by->turn(sums, width, rows * count, samples, floats(memory, out_) + (first * of_.rows + row) * count,
                          of_.rows * count);
  }

  Places of_;
  std::vector<std::vector<SumPart>> parts_;  ///< for each place of the result
  Layout lanes_, weight_, bias_, out_;
  Str text_;
};

/// Has the lines of `count` numbers brought near, which are written later: pieces of rows that are far apart are not foreseen by caches.
void expect(float* at, int64_t count) {
  constexpr int64_t kCacheLine = 16;
  for (int64_t i = 0; i < count; i += kCacheLine) __builtin_prefetch(at + i, 1);
}

/// The gradient of the weight: each thread its own outputs.
class WeightGradientInLanes : public Kernel {
 public:
  /// `gradient`: samples side by side; `x`: channels side by side.
  WeightGradientInLanes(const Geometry& geometry, Layout gradient, Layout x, Layout out)
      : of_(geometry), gradient_(std::move(gradient)), x_(std::move(x)), out_(std::move(out)) {
    const int64_t width = of_.products_by->width, panels = of_.products_by->panels(of_.inputs);
    const auto met = meetings(of_, true);
    parts_.resize(size_t(kernel()));
    for (size_t in = 0; in < met.size(); ++in) {
      for (const Meeting& meeting : met[in])
        parts_[size_t(meeting.element)].push_back(
            {meeting.place * of_.outputs * width, int64_t(in) * panels * of_.samples * width});
    }
  }

  void run(Memory memory, const Part& part) const override {
    const int64_t tile = of_.products_by->rows, width = of_.products_by->width;
    const auto [begin, end] = part.share((of_.outputs + tile - 1) / tile);
    auto* const sums = reinterpret_cast<float*>(part.scratch);
    for (int64_t row = begin * tile; row < std::min(end * tile, of_.outputs); row += tile) {
      const int64_t rows = std::min(tile, of_.outputs - row);
      for (int64_t panel = 0; panel < of_.products_by->panels(of_.inputs); ++panel) {
        const int64_t channel = panel * width, columns = std::min(width, of_.inputs - channel);
        float* const to = floats(memory, out_) + (row * of_.inputs + channel) * kernel();
        for (int64_t r = 0; r < rows; ++r) expect(to + r * of_.inputs * kernel(), columns * kernel());
        sum(memory, row, rows, panel, columns, sums);
        for (int64_t r = 0; r < rows; ++r) {
          of_.products_by->turn(sums + r * width, tile * width, kernel(), columns, to + r * of_.inputs * kernel(),
                                kernel());
        }
      }
    }
  }
  int64_t scratch_bytes() const override {
    return kernel() * of_.products_by->rows * of_.products_by->width * int64_t(sizeof(float));
  }
  double products() const override {
    double pairs = 0;
    for (const auto& parts : parts_) pairs += double(parts.size());
    return pairs * double(of_.samples) * double(of_.inputs) * double(of_.outputs);
  }
  Str text() const override { return of_.text() + " convolution, by weight, samples side by side"; }

 private:
  int64_t kernel() const { return of_.y.kernel * of_.x.kernel; }

  /// All of an element at once, or what rounds its left side part by part.
  void multiply(PanelProduct& product, const std::vector<SumPart>& parts) const {
    const ProductKernel& kernel = *of_.products_by;
    if (parts.empty() && !product.adds) {
      for (int64_t row = 0; row < product.rows; ++row)
        std::fill_n(product.out + row * kernel.width, kernel.width, 0.0F);
    } else if (!kernel.narrows()) {
      product.parts = parts.data();
      product.part_count = int64_t(parts.size());
      if (!parts.empty()) kernel.multiply(product);
    } else {
      const float *const left = product.left.at, *const panel = product.panel;
      for (const SumPart& part : parts) {
        product.left.at = left + part.left;
        product.panel = panel + part.panel;
        kernel.multiply(product);
        product.adds = true;
      }
    }
  }

  /// sums[element][row][channel of the panel]
  void sum(Memory memory, int64_t row, int64_t rows, int64_t panel, int64_t columns, float* sums) const {
    const int64_t tile = of_.products_by->rows, width = of_.products_by->width;
    PanelProduct product;
    product.left.row = width;
    product.left.column = 1;
    product.rows = rows;
    product.columns = columns;
    product.out_row = width;
    for (int64_t first = 0; first < of_.samples; first += width) {
      product.depth = std::min(width, of_.samples - first);
      const float* const gradient = floats(memory, gradient_) + first * of_.outputs * of_.places() + row * width;
      const float* const x = floats(memory, x_) + (panel * of_.samples + first) * width;
      for (int64_t element = 0; element < kernel(); ++element) {
        product.left.at = gradient;
        product.panel = x;
        product.out = sums + element * tile * width;
        product.adds = first > 0;
        multiply(product, parts_[size_t(element)]);
      }
    }
  }

  Geometry of_;
  std::vector<std::vector<SumPart>> parts_;  ///< for each element of the kernel
  Layout gradient_, x_, out_;
};

/// `from` as `Joined` has it, made once for all that read it so.
template <class Joined>
Layout joined(Lowering& to, const Images& images, const Layout& from, bool is_settled = true) {
  const int64_t elements = Joined::elements(images);
  Call call;
  call.split = Split::Shares;
  call.reads = {{from.root, false}};
  // Floats are what they settle to.
  const std::vector<Argument> key{Str(std::is_same_v<Joined, JoinedSamples> ? "samples" : "channels") + " side by side",
                                  int64_t(from.root), from.offset, is_settled || !images.products_by->narrows()};
  // A weight or buffer is another one behind each write.
  const bool is_kept = to.is_given(from.root) && to.graph().values[from.root].kind != Value::Kind::Input;
  if (const auto* left = is_kept ? nullptr : to.left(key)) return dense(left->front(), {elements});
  const Layout out = dense(to.temporary(DType::F32, elements), {elements});
  call.writes = {{out.root, false}};
  call.kernel = std::make_unique<Joined>(images, from, out, is_settled);
  to.add(std::move(call));
  to.leave(key, {out.root});
  return out;
}

void convolve_in_lanes(Lowering& to, Places places, const Layout& from, const Layout& weight, const Layout& bias,
                       const Layout& out, Str text) {
  const ProductKernel& kernel = *places.products_by;
  const Layout lanes = joined<JoinedSamples>(to, {&kernel, places.samples, places.depth, places.images}, from);
  Layout read = weight;
  if (kernel.narrows()) {
    // Rounded once for all places.
    const int64_t elements = weight.count() / (places.rows * places.depth);
    const int64_t words = elements * ElementTiles::words(kernel, places.rows, places.depth);
    read = dense(to.temporary(DType::F32, words), {words});
    Call tiles;
    tiles.split = Split::Shares;
    tiles.reads = {{weight.root, false}};
    tiles.writes = {{read.root, false}};
    tiles.kernel =
        std::make_unique<ElementTiles>(kernel, places.weight, places.rows, places.depth, elements, weight, read);
    to.add(std::move(tiles));
  }
  Call call;
  call.split = Split::Shares;
  call.reads = {{lanes.root, false}, {read.root, false}};
  if (bias.root != kNone) call.reads.push_back({bias.root, false});
  call.writes = {{out.root, false}};
  call.kernel = std::make_unique<ConvolutionInLanes>(std::move(places), lanes, read, bias, out, std::move(text));
  to.add(std::move(call));
}

}  // namespace

bool fits_lanes(const Geometry& of) {
  // Places of a result that a tile of rows keeps; and of a vector of samples most are there.
  constexpr int64_t kPlaces = 16;
  const int64_t vector = of.products_by->width / 2, rest = of.samples % vector;
  const bool is_filled = of.samples >= vector && (rest == 0 || of.samples >= 4 * vector);
  return of.groups == 1 && of.places() <= kPlaces && of.image() <= 4 * kPlaces && is_filled &&
         std::min(of.inputs, of.outputs) >= kLanesDepth && !fits_winograd(of);
}

void convolve_in_lanes(Lowering& to, const Geometry& of, const Layout& x, const Layout& weight, const Layout& bias,
                       const Layout& out) {
  const int64_t kernel = of.y.kernel * of.x.kernel;
  Places places{of.products_by,
                meetings(of, false),
                of.samples,
                of.outputs,
                of.inputs,
                of.image(),
                {nullptr, of.inputs * kernel, kernel}};
  convolve_in_lanes(to, std::move(places), x, weight, bias, out, of.text() + " convolution, samples side by side");
}

void convolve_back_in_lanes(Lowering& to, const Geometry& of, const Layout& gradient, const Layout& weight,
                            const Layout& bias, const Layout& out) {
  const int64_t kernel = of.y.kernel * of.x.kernel;
  Places places{of.products_by,
                meetings(of, true),
                of.samples,
                of.inputs,
                of.outputs,
                of.places(),
                {nullptr, kernel, of.inputs * kernel}};
  convolve_in_lanes(to, std::move(places), gradient, weight, bias, out,
                    of.text() + " convolution, by input, samples side by side");
}

void weight_gradient_in_lanes(Lowering& to, const Geometry& of, const Layout& gradient, const Layout& x,
                              const Layout& out) {
  const Layout lanes =
      joined<JoinedSamples>(to, {of.products_by, of.samples, of.outputs, of.places()}, gradient, false);
  const Layout channels = joined<JoinedChannels>(to, {of.products_by, of.samples, of.inputs, of.image()}, x);
  Call call;
  call.split = Split::Shares;
  call.reads = {{lanes.root, false}, {channels.root, false}};
  call.writes = {{out.root, false}};
  call.kernel = std::make_unique<WeightGradientInLanes>(of, lanes, channels, out);
  to.add(std::move(call));
}

}  // namespace ltr::plan
