#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/optim/elements.h"
#include "runtime/tensor/parallel.h"

namespace ltr::optim {

namespace {

/// Keeps means of squared gradients per row and column instead of per element. Below two dims there is nothing to save,
/// and every element has its own.
class Adafactor : public Rule {
 public:
  explicit Adafactor(Arguments& arguments)
      : beta2_decay_(arguments.number("beta2_decay", -0.8)),
        least_(arguments.option_pair("eps", std::nullopt, 1e-3)),
        most_(arguments.number("d", 1.0)),
        maximize_(arguments.flag("maximize", false)) {}

  std::vector<const char*> state_names() const override { return {"row_var", "col_var", "variance"}; }

  at::Tensor initial_state(const char* name, const at::Tensor& weight) const override {
    const std::string_view which = name;
    if (weight.dim() < 2) return which == "variance" ? at::zeros_like(weight) : at::zeros({0}, weight.options());
    if (which == "variance") return at::zeros({0}, weight.options());
    std::vector<int64_t> sizes = weight.sizes().vec();
    sizes[sizes.size() - (which == "row_var" ? 1 : 2)] = 1;
    return at::zeros(sizes, weight.options());
  }

  Blocking blocking() const override { return Blocking::Asks; }

  void update(const Update& up) override {
    for (size_t i = 0; i < up.weights.size(); i++) {
      const Numbers numbers = numbers_for(up, i);
      if (!move_elements(up, i, numbers)) move(up, i, numbers);
    }
  }

 private:
  struct Numbers {
    double fresh;  ///< of the mean squares
    double rate;   ///< of a weight whose elements are around 1
    double size;   ///< the norm of as many ones as the weight has elements
    double floor;  ///< of a mean square; its square of that of an element
  };
  Numbers numbers_for(const Update& up, size_t i) const {
    const at::Tensor& weight = up.weights[i];
    const double step = double(*up.steps[i].const_data_ptr<float>());  // on the host, which asks
    return {
        .fresh = std::pow(step, beta2_decay_),
        .rate = std::min(up.lr, 1 / std::sqrt(step)),
        .size = std::sqrt(double(weight.numel())),
        .floor = least_.first.value_or(weight.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                                           : std::numeric_limits<float>::epsilon())};
  }

  bool move_elements(const Update& up, size_t i, const Numbers& numbers) {
    const auto is_plain = [&](const TensorVec& list) {
      return list[i].is_contiguous() && list[i].scalar_type() == at::kFloat;
    };
    if (!fits_kernel(up, i) || up.weights[i].numel() == 0 || !std::ranges::all_of(up.state, is_plain)) return false;
    const Matrices matrices = matrices_of(up, i);
    if (matrices.is_factored) {
      take_in_rows(matrices, float(numbers.fresh));
      take_in_columns(matrices, float(numbers.fresh));
    }
    find_means(matrices, float(numbers.floor));
    FactoredNumbers by{.sign = maximize_ ? -1.0F : 1.0F,
                       .least = float(numbers.floor * numbers.floor),
                       .shrink = float(1 - up.lr * weight_decay),
                       .rate = 0};
    const Sums squares = sums_by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& e) {
      if (!matrices.is_factored) kernels.go_towards_squares(e.state[2], e.grad, float(numbers.fresh), e.count);
      Sums sums{squares_by_kernel(e.weight, e.count), 0};
      each_row(matrices, e, [&](const FactoredRow& row) { sums[1] += kernels.factored_squares(row, by); });
      return sums;
    });
    const double alpha = std::max(std::sqrt(squares[0]) / numbers.size, least_.second) * numbers.rate;
    by.rate = float(alpha / std::max(std::sqrt(squares[1]) / (numbers.size * most_), 1.0));
    return by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& e) {
      each_row(matrices, e, [&](const FactoredRow& row) { kernels.factored(row, by); });
    });
  }

  /// A weight as matrices, one behind the other. Below two dims it is one row, of which each column has a mean square of its own.
  struct Matrices {
    bool is_factored;
    int64_t count, rows, columns;
    const float *weight, *grad;
    float *by_row, *by_column;
  };
  static Matrices matrices_of(const Update& up, size_t i) {
    const at::Tensor& weight = up.weights[i];
    const bool is_factored = weight.dim() >= 2;
    const int64_t rows = is_factored ? weight.size(-2) : 1, columns = is_factored ? weight.size(-1) : weight.numel();
    return {.is_factored = is_factored,
            .count = weight.numel() / (rows * columns),
            .rows = rows,
            .columns = columns,
            .weight = weight.const_data_ptr<float>(),
            .grad = up.grads[i].const_data_ptr<float>(),
            .by_row = is_factored ? up.state[0][i].mutable_data_ptr<float>() : nullptr,
            .by_column = up.state[is_factored ? 1 : 2][i].mutable_data_ptr<float>()};
  }

  static void take_in_rows(const Matrices& of, float fresh) {
    parallel_for(0, of.count * of.rows, std::max<int64_t>(1, kGrain / of.columns), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const auto mean = float(squares_by_kernel(of.grad + row * of.columns, of.columns) / double(of.columns));
        element_kernels()->go_towards(of.by_row + row, &mean, fresh, 1);
      }
    });
  }

  /// Each thread has columns of its own, so that no number of threads changes a sum.
  static void take_in_columns(const Matrices& of, float fresh) {
    constexpr int64_t kColumns = 512, kRows = 256;  // which f32 sums before f64 does
    const int64_t shares = (of.columns + kColumns - 1) / kColumns;
    const int64_t grain = std::max<int64_t>(1, kGrain / (of.rows * std::min(of.columns, kColumns)));
    parallel_for(0, of.count * shares, grain, [&](int64_t first, int64_t last) {
      std::array<float, kColumns> some;
      std::array<double, kColumns> all;
      for (int64_t share = first; share < last; ++share) {
        const int64_t matrix = share / shares, begin = share % shares * kColumns,
                      count = std::min(kColumns, of.columns - begin);
        const float* const grad = of.grad + matrix * of.rows * of.columns + begin;
        all.fill(0);
        for (int64_t row = 0; row < of.rows; row += kRows) {
          some.fill(0);
          for (int64_t at = row; at < std::min(row + kRows, of.rows); ++at)
            element_kernels()->add_squares(some.data(), grad + at * of.columns, count);
          for (int64_t k = 0; k < count; ++k) all[size_t(k)] += double(some[size_t(k)]);
        }
        for (int64_t k = 0; k < count; ++k) some[size_t(k)] = float(all[size_t(k)] / double(of.rows));
        element_kernels()->go_towards(of.by_column + matrix * of.columns + begin, some.data(), fresh, count);
      }
    });
  }

  /// Of the rows of each matrix, or 1 where nothing is factored.
  void find_means(const Matrices& of, float floor) {
    means_.assign(size_t(of.count), 1);
    if (!of.is_factored) return;
    for (int64_t matrix = 0; matrix < of.count; ++matrix) {
      const float* const rows = of.by_row + matrix * of.rows;
      means_[size_t(matrix)] = std::max(float(std::accumulate(rows, rows + of.rows, 0.0) / double(of.rows)), floor);
    }
  }

  template <class Each>
  void each_row(const Matrices& of, const Elements& e, const Each& each) const {
    int64_t at = e.weight - of.weight;
    for (int64_t done = 0; done < e.count;) {
      const int64_t row = at / of.columns, column = at % of.columns, matrix = row / of.rows;
      const int64_t count = std::min(of.columns - column, e.count - done);
      each(FactoredRow{.weight = e.weight + done,
                       .grad = e.grad + done,
                       .columns = of.by_column + matrix * of.columns + column,
                       .count = count,
                       .row = of.is_factored ? of.by_row[row] : 1,
                       .mean = means_[size_t(matrix)]});
      done += count;
      at += count;
    }
  }

  void move(const Update& up, size_t i, const Numbers& numbers) const {
    const at::Tensor grad = maximize_ ? at::neg(up.grads[i]) : up.grads[i];
    const at::Tensor& weight = up.weights[i];
    // Norms stay on the device, in f64: the host waits for none of them.
    const at::Tensor alpha = wide_norm(weight).div_(numbers.size).clamp_min_(least_.second).mul_(numbers.rate);
    if (weight_decay != 0) weight.mul_(1 - up.lr * weight_decay);
    at::Tensor variance = moved_variance(up, i, grad, numbers.fresh, numbers.floor);
    at::Tensor direction = variance.clamp_min_(numbers.floor * numbers.floor).rsqrt_().mul_(grad);
    const at::Tensor length = wide_norm(direction).div_(numbers.size * most_).clamp_min_(1.0);
    weight.sub_(direction.mul_(at::div(alpha, length)));
  }

  /// Takes in the gradient, and gives the estimate for every element, as a tensor of its own.
  static at::Tensor moved_variance(const Update& up, size_t i, const at::Tensor& grad, double fresh, double floor) {
    const at::Tensor square = at::square(grad);
    if (grad.dim() < 2) return up.state[2][i].lerp_(square, fresh).clone();
    at::Tensor& rows = up.state[0][i].lerp_(square.mean(-1, true), fresh);
    at::Tensor& columns = up.state[1][i].lerp_(square.mean(-2, true), fresh);
    return at::matmul(rows, columns).div_(rows.mean(-2, true).clamp_min_(floor));
  }

  double beta2_decay_;
  std::pair<std::optional<double>, double> least_;
  double most_;
  bool maximize_;
  std::vector<float> means_;  ///< of the matrices of a weight
};

}  // namespace

std::unique_ptr<Rule> make_adafactor(Arguments& arguments) { return std::make_unique<Adafactor>(arguments); }

}  // namespace ltr::optim
