// Products of matrices.

#include <algorithm>

#include "runtime/kernels/product.h"
#include "runtime/plan/cpu/lowering.h"

namespace ltr::plan {

namespace {

using kernels::Matrix;
using kernels::PanelProduct;
using kernels::ProductKernel;

/// The last two axes of `layout` in memory.
Matrix matrix(Memory memory, const Layout& layout, int64_t offset = 0) {
  const size_t axes = layout.sizes.size();
  return {reinterpret_cast<const float*>(memory[layout.root]) + layout.offset + offset, layout.strides[axes - 2],
          layout.strides[axes - 1]};
}
float* floats(Memory memory, ValueId root) { return reinterpret_cast<float*>(memory[root]); }

/// Packs panel `at` of `matrix` [depth, columns].
void pack_panel(const ProductKernel& kernel, const Matrix& matrix, int64_t depth, int64_t columns, int64_t at,
                float* panel) {
  const int64_t width = kernel.width, first = at * width;
  kernel.pack({matrix.at + first * matrix.column, matrix.row, matrix.column}, depth, std::min(width, columns - first),
              panel);
}

class PackCall : public Kernel {
 public:
  PackCall(const ProductKernel& kernel, Layout from, ValueId to) : kernel_(kernel), from_(std::move(from)), to_(to) {}

  void run(Memory memory, const Part& part) const override {
    const int64_t depth = from_.sizes[0], columns = from_.sizes[1];
    const auto [begin, end] = part.share(kernel_.panels(columns));
    for (int64_t at = begin; at < end; ++at)
      pack_panel(kernel_, matrix(memory, from_), depth, columns, at,
                 floats(memory, to_) + at * kernel_.lines(depth) * kernel_.width);
  }
  Str text() const override { return fmt::format("[{}] pack", fmt::join(from_.sizes, ", ")); }

 private:
  const ProductKernel& kernel_;
  Layout from_;
  ValueId to_;
};

// A block of a product stays in caches: a panel of it in the nearest, its rows of the left side in the next.
constexpr int64_t kDepth = 256, kRows = 60, kPanels = 16;

/// What the nearest cache holds is read as fast across memory as along it, and is not packed.
constexpr int64_t kAtHand = 4096;

/// Part of a product: rows [begin, end), and `depth` of the sums from `from` on.
struct Block {
  int64_t begin = 0, end = 0, from = 0, depth = 0;
};

/// What a product is of: left [m, k] · right [k, n] + bias, side by side in `out`.
struct Product {
  const ProductKernel* kernel = nullptr;
  Layout left, right;
  Layout bias;  ///< [n]; no root: none
  ValueId out = kNone;
  int64_t rows() const { return left.sizes[0]; }
  int64_t depth() const { return left.sizes[1]; }
  int64_t columns() const { return right.sizes[1]; }
  /// Whether lines of the right side are those of panels as they lie.
  bool has_panels() const {
    return !kernel->narrows() && right.count() <= kAtHand && right.strides[0] >= columns() && right.strides[1] == 1 &&
           columns() % (kernel->width / 2) == 0;
  }

  /// Whether it has so few columns that a panel would be mostly zeros.
  bool is_few() const { return columns() <= kernel->few && left.strides[1] == 1; }
  bool packs_right() const { return !has_panels() && !is_few(); }

  /// A block by panel `at`, null where the right side is not packed; `words`: its rows of the left side, as `pack_rows` made them, or null.
  void multiply(Memory memory, const Block& block, int64_t at, const float* panel, const float* words = nullptr) const {
    const int64_t first = at * kernel->width;
    PanelProduct product;
    product.left = matrix(memory, left, block.begin * left.strides[0] + block.from * left.strides[1]);
    if (words != nullptr) {
      const int64_t lines = kernel->lines(block.depth);
      product.words = rounds_rows() ? kernels::Words{words, lines, 1, lines} : kernel->tiles(words, block.depth);
    }
    product.rows = block.end - block.begin;
    product.depth = block.depth;
    product.panel = panel;
    if (has_panels()) {
      const Matrix lines = matrix(memory, right);
      product.panel = lines.at + block.from * lines.row + first;
      product.panel_row = lines.row;
    }
    product.columns = std::min(kernel->width, columns() - first);
    product.out = floats(memory, out) + block.begin * columns() + first;
    product.out_row = columns();
    product.adds = block.from > 0;
    if (bias.root != kNone && block.from == 0) product.bias = floats(memory, bias.root) + bias.offset + first;
    if (is_few()) return kernel->multiply_few(product, matrix(memory, right, block.from * right.strides[0]));
    kernel->multiply(product);
  }
  /// Rows of a block as words: side by side where they lie so, else as tiles.
  void pack_rows(Memory memory, const Block& block, float* words) const {
    const auto pack = rounds_rows() ? kernel->round_rows : kernel->pack_rows;
    pack(matrix(memory, left, block.begin * left.strides[0] + block.from * left.strides[1]), block.end - block.begin,
         block.depth, words);
  }
  bool rounds_rows() const { return kernel->round_rows != nullptr && left.strides[1] == 1; }
  double products() const { return double(rows()) * double(depth()) * double(columns()); }
  Str text() const {
    return fmt::format("[{}, {}] x [{}, {}] product{}", rows(), depth(), depth(), columns(), type_of(*kernel));
  }
};

/// Each thread its own rows, which are few, by panels that were packed before.
class RowsProduct : public Kernel {
 public:
  RowsProduct(Product product, ValueId panels) : product_(std::move(product)), panels_(panels) {}

  void run(Memory memory, const Part& part) const override {
    const auto [begin, end] = part.of(product_.rows());
    const ProductKernel& kernel = *product_.kernel;
    const int64_t depth = product_.depth(), lines = kernel.lines(depth), panels = kernel.panels(product_.columns());
    // What is to be rounded is so once for all panels.
    float* const tiles = packs() ? reinterpret_cast<float*>(part.scratch) : nullptr;
    for (int64_t row = begin; row < end; row += kRows) {
      for (int64_t from = 0; from < depth; from += kDepth) {
        const Block block{row, std::min(end, row + kRows), from, std::min(kDepth, depth - from)};
        if (tiles != nullptr) product_.pack_rows(memory, block, tiles);
        for (int64_t at = 0; at < panels; ++at) {
          const float* const panel =
              panels_ == kNone ? nullptr : floats(memory, panels_) + (at * lines + kernel.lines(from)) * kernel.width;
          product_.multiply(memory, block, at, panel, tiles);
        }
      }
    }
  }
  int64_t scratch_bytes() const override { return packs() ? (kRows + 16) * kDepth * 4 : 0; }
  /// Panels are read once for all rows.
  bool goes_in_pieces() const override { return false; }
  double products() const override { return product_.products(); }
  Str text() const override { return product_.text(); }

 private:
  bool packs() const { return product_.kernel->narrows() && product_.columns() > product_.kernel->width; }

  Product product_;
  ValueId panels_;
};

/// Each thread packs panels itself: for the rows of its samples; or its share of all panels, or of rows where there are few panels, or
/// more to pack of rows than of columns.
class PanelsProduct : public Kernel {
 public:
  PanelsProduct(Product product, Split split) : product_(std::move(product)), split_(split) {}

  void run(Memory memory, const Part& part) const override {
    const ProductKernel& kernel = *product_.kernel;
    const int64_t panels = kernel.panels(product_.columns()), rows = product_.rows();
    const bool has_more_rows = rows > panels * kernel.width && (packs_rows() || panels < 2 * part.threads);
    const bool by_rows = split_ == Split::Samples || has_more_rows;
    const auto share = [&](int64_t count) {
      if (split_ == Split::Samples) return part.of(count);
      return split_ == Split::Alone ? std::pair<int64_t, int64_t>(0, count) : part.share(count);
    };
    const auto [first, last] = by_rows ? std::pair<int64_t, int64_t>(0, panels) : share(panels);
    const auto [begin, end] = by_rows ? share(rows) : std::pair<int64_t, int64_t>(0, rows);
    if (begin == end) return;
    for (int64_t at = first; at < last; at += kPanels) {
      for (int64_t from = 0; from < product_.depth(); from += kDepth) {
        const int64_t depth = std::min(kDepth, product_.depth() - from);
        multiply(memory, part, {begin, end, from, depth}, at, std::min(last, at + kPanels));
      }
    }
  }
  int64_t scratch_bytes() const override { return (kPanels * product_.kernel->width + kRows + 16) * kDepth * 4; }
  bool goes_in_pieces() const override { return false; }
  double products() const override { return product_.products(); }
  Str text() const override { return product_.text(); }

 private:
  /// `whole` by the panels [first, last).
  void multiply(Memory memory, const Part& part, const Block& whole, int64_t first, int64_t last) const {
    const ProductKernel& kernel = *product_.kernel;
    const int64_t width = kernel.width, of_panel = kernel.lines(whole.depth) * width;
    auto* const panels = reinterpret_cast<float*>(part.scratch);
    float* const tiles = panels + kPanels * width * kDepth;
    Matrix right = matrix(memory, product_.right);
    right.at += whole.from * right.row;
    for (int64_t at = first; at < last && product_.packs_right(); ++at)
      pack_panel(kernel, right, whole.depth, product_.columns(), at, panels + (at - first) * of_panel);
    for (int64_t row = whole.begin; row < whole.end; row += kRows) {
      const Block block{row, std::min(whole.end, row + kRows), whole.from, whole.depth};
      if (packs_rows()) product_.pack_rows(memory, block, tiles);
      for (int64_t at = first; at < last; ++at)
        product_.multiply(memory, block, at, panels + (at - first) * of_panel, packs_rows() ? tiles : nullptr);
    }
  }
  /// Rows that lie across memory are packed: what stays in caches is then read once and in a line; so are rows to be rounded.
  bool packs_rows() const {
    const bool is_across = product_.left.strides[1] != 1 && product_.left.count() > kAtHand;
    return (is_across || product_.kernel->narrows()) && product_.columns() > product_.kernel->width;
  }

  Product product_;
  Split split_;
};

/// Many products side by side: each thread takes its share of them.
class BatchProduct : public Kernel {
 public:
  /// The first axis counts the products; `out` is dense.
  BatchProduct(const ProductKernel& kernel, Layout left, Layout right, ValueId out, bool splits_samples)
      : kernel_(kernel), left_(std::move(left)), right_(std::move(right)), out_(out), splits_samples_(splits_samples) {}

  void run(Memory memory, const Part& part) const override {
    int64_t count = 1;
    const size_t axes = left_.sizes.size();
    for (size_t axis = 0; axis + 2 < axes; ++axis) count *= left_.sizes[axis];
    const auto [begin, end] = splits_samples_ ? part.of(count) : part.share(count);
    auto* const panel = reinterpret_cast<float*>(part.scratch);
    const int64_t rows = left_.sizes[axes - 2], depth = left_.sizes[axes - 1], columns = right_.sizes[axes - 1];
    for (int64_t i = begin; i < end; ++i) {
      int64_t of_left = 0, of_right = 0, rest = i;
      for (size_t axis = axes - 2; axis-- > 0;) {
        const int64_t index = rest % left_.sizes[axis];
        rest /= left_.sizes[axis];
        of_left += index * left_.strides[axis];
        of_right += index * right_.strides[axis];
      }
      PanelProduct product;
      product.left = matrix(memory, left_, of_left);
      product.rows = rows;
      product.depth = depth;
      product.panel = panel;
      product.out_row = columns;
      for (int64_t at = 0; at < kernel_.panels(columns); ++at) {
        pack_panel(kernel_, matrix(memory, right_, of_right), depth, columns, at, panel);
        product.columns = std::min(kernel_.width, columns - at * kernel_.width);
        product.out = floats(memory, out_) + i * rows * columns + at * kernel_.width;
        kernel_.multiply(product);
      }
    }
  }
  int64_t scratch_bytes() const override { return left_.sizes.back() * kernel_.width * 4; }
  double products() const override { return double(left_.count()) * double(right_.sizes.back()); }
  Str text() const override {
    return fmt::format("[{}] x [{}] products{}", fmt::join(left_.sizes, ", "), fmt::join(right_.sizes, ", "),
                       type_of(kernel_));
  }

 private:
  const ProductKernel& kernel_;
  Layout left_, right_;
  ValueId out_;
  bool splits_samples_;
};

/// Many rows are worth that each thread packs panels for them, and keeps none.
constexpr int64_t kManyRows = 256;

/// For people: how the right side is read, and why so.
Str why_so(const Product& product, bool by_samples) {
  if (product.is_few())
    return fmt::format("{} of at most {} columns are read as they lie", product.columns(), product.kernel->few);
  if (product.has_panels()) return fmt::format("{} numbers stay at hand, and are not packed", product.right.count());
  if (!by_samples) return "each thread packs what it reads";
  return product.rows() < kManyRows ? fmt::format("packed once, for less than {} rows", kManyRows)
                                    : fmt::format("each thread packs, from {} rows on", kManyRows);
}

void multiply(Lowering& to, Product product) {
  product.kernel = &to.products();
  Call call;
  const Layout out = dense(product.out, {product.rows(), product.columns()});
  call.writes.push_back(to.touched(out, true));
  const bool by_samples = to.is_apart(product.left) && to.is_apart(out);
  if (product.bias.root != kNone) call.reads.push_back({product.bias.root, false});
  call.reads.push_back(to.touched(product.left, by_samples));
  // Where the right side is what other samples gave, it is a sum over them: threads share its columns.
  constexpr int64_t kWorthSharing = 1 << 16;  // products; some microseconds
  call.why = why_so(product, by_samples);
  if (by_samples && product.rows() < kManyRows) {
    const ValueId panels = product.packs_right() ? to.panels(product.right) : kNone;
    call.reads.push_back({panels == kNone ? product.right.root : panels, false});
    call.split = Split::Samples;
    call.kernel = std::make_unique<RowsProduct>(std::move(product), panels);
  } else {
    const bool is_alone = product.rows() * product.depth() * product.columns() < kWorthSharing;
    call.reads.push_back({product.right.root, false});
    call.writes.back().is_own = by_samples && call.writes.back().is_own;
    call.split = by_samples ? Split::Samples : is_alone ? Split::Alone : Split::Shares;
    if (call.split == Split::Alone) call.why_split = kTooLittle;
    call.kernel = std::make_unique<PanelsProduct>(std::move(product), call.split);
  }
  to.add(std::move(call));
}

/// Whether the left side has no depth: blocks of it, of which the first writes what the others add to, are none.
bool is_sum_of_nothing(const Lowering& to, ValueId left) {
  return !to.layout(left).sizes.empty() && to.layout(left).sizes.back() == 0;
}

/// Rows of any number of axes in front of the last one.
Layout as_rows(Lowering& to, const Layout& x) {
  const Ints sizes{x.sizes.back() == 0 ? 0 : x.count() / x.sizes.back(), x.sizes.back()};
  const Option<Layout> found = reshaped(x, sizes);
  return found ? *found : *reshaped(to.side_by_side(x, DType::F32), sizes);
}

bool linear(Lowering& to) {
  const ValueId x = to.node().value(0).id, weight = to.node().value(1).id, bias = to.node().value(2).id;
  if (!to.is_f32({x, weight, bias}) || is_sum_of_nothing(to, x)) return false;
  Product product;
  product.left = as_rows(to, to.layout(x));
  product.right = transposed(to.layout(weight));
  if (bias != kNone) product.bias = to.side_by_side(to.layout(bias), DType::F32);
  product.out = to.result();
  multiply(to, std::move(product));
  return true;
}

bool batch_product(Lowering& to) {
  const ValueId a = to.node().value(0).id, b = to.node().value(1).id;
  const Layout out = to.layout(to.result());
  const size_t axes = out.sizes.size();
  Ints left_sizes = out.sizes, right_sizes = out.sizes;
  left_sizes[axes - 1] = to.layout(a).sizes.back();
  right_sizes[axes - 2] = left_sizes[axes - 1];
  to.batch_product(expanded(to.layout(a), left_sizes), expanded(to.layout(b), right_sizes), to.result());
  return true;
}

/// y_o = Σ_ij l_i W_oij r_j + b_o, for each row: of all products l_i r_j.
bool bilinear(Lowering& to) {
  const ValueId bias = to.argument(3);
  if (!to.is_f32({to.argument(0), to.argument(1), to.argument(2), bias})) return false;
  const Layout left = as_rows(to, to.layout(to.argument(0))), right = as_rows(to, to.layout(to.argument(1))),
               weight = to.side_by_side(to.layout(to.argument(2)), DType::F32);
  const int64_t rows = left.sizes[0], i = left.sizes[1], j = right.sizes[1], pairs = i * j;
  if (rows * pairs == 0) return false;
  const ValueId both = to.temporary(DType::F32, rows * pairs);
  PointProgram program = Lowering::program({rows, i, j});
  const auto l = program.load(expanded(*reshaped(left, {rows, i, 1}), program.sizes), DType::F32);
  const auto r = program.load(expanded(*reshaped(right, {rows, 1, j}), program.sizes), DType::F32);
  program.store(both, DType::F32, program.step(kernels::Point::mul, l, r));
  to.add(std::move(program));
  Product product;
  product.left = dense(both, {rows, pairs});
  product.right = transposed(*reshaped(weight, {weight.sizes[0], pairs}));
  if (bias != kNone) product.bias = to.side_by_side(to.layout(bias), DType::F32);
  product.out = to.result();
  multiply(to, std::move(product));
  return true;
}

bool matmul(Lowering& to) {
  const ValueId a = to.node().value(0).id, b = to.node().value(1).id;
  if (!to.is_f32({a, b}) || is_sum_of_nothing(to, a)) return false;
  const size_t left = to.layout(a).sizes.size(), right = to.layout(b).sizes.size();
  if (left < 2 || right < 2) return false;
  if (right > 2) return batch_product(to);
  Product product;
  product.left = left == 2 ? to.layout(a) : as_rows(to, to.layout(a));
  product.right = to.layout(b);
  product.out = to.result();
  multiply(to, std::move(product));
  return true;
}

}  // namespace

ValueId Lowering::panels(const Layout& right) {
  for (const auto& [layout, panels] : panels_) {
    if (layout == right) return panels;
  }
  const int64_t count = products_.panels(right.sizes[1]);
  const ValueId packed = temporary(DType::F32, count * products_.lines(right.sizes[0]) * products_.width);
  Call call;
  call.kernel = std::make_unique<PackCall>(products_, right, packed);
  call.split = Split::Shares;
  call.reads = {{right.root, false}};
  call.writes = {{packed, false}};
  add(std::move(call));
  panels_.emplace_back(right, packed);
  return packed;
}

void Lowering::product(const Layout& left, const Layout& right, const Layout& bias, ValueId out) {
  multiply(*this, {.left = left, .right = right, .bias = bias, .out = out});
}

void Lowering::batch_product(const Layout& left, const Layout& right, ValueId out) {
  Ints sizes = left.sizes;
  sizes.back() = right.sizes.back();
  const Layout given = dense(out, sizes);
  Call call;
  const bool by_samples = is_apart(given) && is_apart(left) && is_apart(right);
  call.split = by_samples ? Split::Samples : Split::Shares;
  call.reads = {touched(left, by_samples), touched(right, by_samples)};
  call.writes = {touched(given, by_samples)};
  call.kernel = std::make_unique<BatchProduct>(products(), left, right, out, by_samples);
  add(std::move(call));
}

bool lower_product(Lowering& to) {
  switch (to.node().op) {
    case Op::bilinear: return bilinear(to);
    case Op::linear: return linear(to);
    case Op::matmul:
    case Op::bmm: return matmul(to);
    default: return false;
  }
}

}  // namespace ltr::plan
