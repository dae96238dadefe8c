#pragma once

// Written by runtime/api/make_ops.py from stdlib/*/*.ltr: the tensor functions that generated code calls.
// Every argument is always passed, in order; an undefined tensor is `none`.

#include "ltr/api.h"
#include "ltr/operators.h"

namespace ltr {
LTR_STEP_BEGIN

// ---- stdlib/tensor/activation.ltr

/// max(x, 0).
LTR_EXPORT Tensor relu(const Tensor& x);
/// min(max(x, 0), 6), without a gradient at 0 and 6. Howard et al. 2017.
LTR_EXPORT Tensor relu6(const Tensor& x);
/// x Φ(x), Φ of the normal distribution; `tanh` is its approximation. Hendrycks and Gimpel 2016.
LTR_EXPORT Tensor gelu(const Tensor& x, const Str& form);
/// x sigmoid(x).
LTR_EXPORT Tensor silu(const Tensor& x);
/// x tanh(softplus(x)). Misra 2019.
LTR_EXPORT Tensor mish(const Tensor& x);
/// x above 0, else alpha (exp(x) - 1).
LTR_EXPORT Tensor elu(const Tensor& x, double alpha);
/// elu with the scale and alpha of Klambauer et al. 2017.
LTR_EXPORT Tensor selu(const Tensor& x);
/// x above 0, else slope x.
LTR_EXPORT Tensor leaky_relu(const Tensor& x, double slope);
/// x above 0, else weight x, with one weight for all or one for each channel (axis 1). He et al. 2015.
LTR_EXPORT Tensor prelu(const Tensor& x, const Tensor& weight);
/// log(1 + exp(beta x)) / beta.
LTR_EXPORT Tensor softplus(const Tensor& x, double beta);
/// x relu6(x + 3) / 6.
LTR_EXPORT Tensor hardswish(const Tensor& x);
/// The first half along the last axis, times the sigmoid of the second.
LTR_EXPORT Tensor glu(const Tensor& x);
/// The first half along the last axis through silu, times the second. Shazeer 2020.
LTR_EXPORT Tensor swiglu(const Tensor& x);
/// exp(x) / sum(exp(x)) along `dim`.
LTR_EXPORT Tensor softmax(const Tensor& x, int64_t dim);
/// log(softmax(x)) along `dim`, without overflow.
LTR_EXPORT Tensor log_softmax(const Tensor& x, int64_t dim);
/// In training each element is zero with probability `p`, else divided by 1 - p; in evaluation `x` itself.
LTR_EXPORT Tensor dropout(const Tensor& x, double p);
/// log(sigmoid(x)), without overflow.
LTR_EXPORT Tensor logsigmoid(const Tensor& x);
/// As `dropout`, whole channels at a time. Tompson et al. 2015.
LTR_EXPORT Tensor dropout2d(const Tensor& x, double p);

// ---- stdlib/tensor/arithmetic.ltr

/// |x|.
LTR_EXPORT Tensor abs(const Tensor& x);
/// e to the power of x.
LTR_EXPORT Tensor exp(const Tensor& x);
/// Natural logarithm; nan below 0.
LTR_EXPORT Tensor log(const Tensor& x);
/// log(1 + x), exact for small x.
LTR_EXPORT Tensor log1p(const Tensor& x);
/// Square root; nan below 0.
LTR_EXPORT Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x).
LTR_EXPORT Tensor rsqrt(const Tensor& x);
/// Sine of radians.
LTR_EXPORT Tensor sin(const Tensor& x);
/// Cosine of radians.
LTR_EXPORT Tensor cos(const Tensor& x);
/// Hyperbolic tangent.
LTR_EXPORT Tensor tanh(const Tensor& x);
/// 1 / (1 + exp(-x)).
LTR_EXPORT Tensor sigmoid(const Tensor& x);
/// The error function.
LTR_EXPORT Tensor erf(const Tensor& x);
/// The next integer below.
LTR_EXPORT Tensor floor(const Tensor& x);
/// The next integer above.
LTR_EXPORT Tensor ceil(const Tensor& x);
/// The nearest integer; halves go to the even one.
LTR_EXPORT Tensor round(const Tensor& x);
/// -1, 0 or 1.
LTR_EXPORT Tensor sign(const Tensor& x);
/// `x` to the power of `y`, one of them may be a host number: `x ** y`. nan where a negative base meets a fraction.
LTR_EXPORT Tensor pow(const Tensor& x, const Tensor& y);
/// x squared.
LTR_EXPORT Tensor square(const Tensor& x);
/// The smaller of both, element by element; nan wins.
LTR_EXPORT Tensor minimum(const Tensor& a, const Tensor& b);
/// The larger of both, element by element; nan wins.
LTR_EXPORT Tensor maximum(const Tensor& a, const Tensor& b);
/// `x` where it lies within the bounds, else the nearer bound.
LTR_EXPORT Tensor clamp(const Tensor& x, Option<double> min, Option<double> max);
/// `a` where `condition` holds, else `b`.
LTR_EXPORT Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// `value` where `mask` holds, else `x`. The two broadcast to one shape, as PyTorch's.
LTR_EXPORT Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);
/// Whether an element is nan.
LTR_EXPORT Tensor isnan_(const Tensor& x);
/// Whether an element is neither nan nor infinite.
LTR_EXPORT Tensor isfinite(const Tensor& x);
/// A copy that shares nothing.
LTR_EXPORT Tensor clone(const Tensor& x);
/// The same values, through which no gradient flows.
LTR_EXPORT Tensor stop_grad(const Tensor& x);
/// The same values, by which `grad` can differentiate. What `grad(y, x)` names as `x` is tracked by itself where it is
/// assigned; a value with a history keeps it.
LTR_EXPORT Tensor tracked(const Tensor& x);
/// The gradient of the scalar `y` by `x`, itself differentiable.
LTR_EXPORT Tensor grad(const Tensor& y, const Tensor& x);
/// `value`, or `other` where it is `none`: of tensors, and of host values.
LTR_EXPORT Tensor or_else(const Tensor& value, const Tensor& other);

// ---- stdlib/tensor/attention.ltr

/// softmax(q kᵀ · scale + mask) v per head; `scale` is 1 / sqrt(K) if it is `none`. `mask` is `bool` (true: looks) or
/// added, and broadcasts to [B, H, S, L]. `causal`: place i sees the places up to i. Several heads of `q` share one of
/// `k` and `v` if G < H. `dropout` acts on the probabilities, in training. Vaswani et al. 2017.
LTR_EXPORT Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double dropout, Option<double> scale);
/// Rotary positions: halves of the last axis turned by position · base^(-2i/K), the first position being `offset`.
/// Su et al. 2021, with halves as in Llama.
LTR_EXPORT Tensor rope(const Tensor& x, double base, int64_t offset);
/// Linear biases to add to attention scores: -slope · distance, slopes 2^(-8h/heads). Press et al. 2022.
LTR_EXPORT Tensor alibi(int64_t heads, int64_t size);

// ---- stdlib/tensor/convolution.ltr

/// One-dimensional; `bias` is added to each output channel. `padding` zeros stand at each end, or so many in front and behind.
LTR_EXPORT Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, const Ints& padding, int64_t dilation, int64_t groups);
/// Two-dimensional. `stride` and `dilation` are one int or one for each axis, `padding` may be a pair for each: in front, behind.
LTR_EXPORT Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Ints& stride, const Ints& padding, const Ints& dilation, int64_t groups);
/// Three-dimensional. `stride` and `dilation` are one int or one for each axis, `padding` may be a pair for each: in front, behind.
LTR_EXPORT Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Ints& stride, const Ints& padding, const Ints& dilation, int64_t groups);
/// The gradient of conv1d by its input, as a layer; `weight` holds input channels, output channels per group, kernel.
/// `output_padding` chooses among the sizes that the convolution maps to one.
LTR_EXPORT Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding, int64_t output_padding, int64_t groups, int64_t dilation);
/// The gradient of conv2d by its input, as a layer.
LTR_EXPORT Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Ints& stride, const Ints& padding, const Ints& output_padding, int64_t groups, const Ints& dilation);
/// The gradient of conv3d by its input, as a layer.
LTR_EXPORT Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Ints& stride, const Ints& padding, const Ints& output_padding, int64_t groups, const Ints& dilation);
/// Channels `C · factor²` become space: `[B, C, H · factor, W · factor]`. Shi et al. 2016.
LTR_EXPORT Tensor pixel_shuffle(const Tensor& x, int64_t factor);

// ---- stdlib/tensor/creation.ltr

/// Zeros of the policy type.
LTR_EXPORT Tensor zeros(const Ints& dims);
/// Ones of the policy type.
LTR_EXPORT Tensor ones(const Ints& dims);
/// Every element is `value`; its element type is that of the value: `i64`, `float` or `bool`.
LTR_EXPORT Tensor full(const Ints& dims, Scalar value);
/// 0, 1, … n - 1.
LTR_EXPORT Tensor arange(int64_t n);
/// `n` equally spaced numbers from `start` to `end`, both included.
LTR_EXPORT Tensor linspace(double start, double end, int64_t n);
/// The identity matrix.
LTR_EXPORT Tensor eye(int64_t n);
/// Rows of zeros with a one at the class: `one_hot(label, 10)` of `i64[B]` is `i64[B, 10]`.
LTR_EXPORT Tensor one_hot(const Tensor& label, int64_t classes);
/// Uniform in [0, 1).
LTR_EXPORT Tensor rand(const Ints& dims);
/// Standard normal.
LTR_EXPORT Tensor randn(const Ints& dims);
/// Integers in [low, high), each equally likely.
LTR_EXPORT Tensor randint(int64_t low, int64_t high, const Ints& dims);
/// Normal with mean `mean` and standard deviation `std`.
LTR_EXPORT Tensor normal(const Ints& dims, double mean, double std);
/// Uniform in [low, high).
LTR_EXPORT Tensor uniform(const Ints& dims, double low, double high);
/// 0, 1, … n - 1 in random order.
LTR_EXPORT Tensor randperm(int64_t n);
/// One with probability `p`, else zero, element by element.
LTR_EXPORT Tensor bernoulli(const Tensor& p);
/// Draws one class per row: `probs` are non-negative and need not sum to 1.
LTR_EXPORT Tensor sample(const Tensor& probs);

// ---- stdlib/tensor/fourier.ltr

/// Of complex numbers. As torch.fft.fft.
LTR_EXPORT Tensor fft(const Tensor& x, const Str& norm);
/// The inverse of `fft`.
LTR_EXPORT Tensor ifft(const Tensor& x, const Str& norm);
/// Of real numbers: the frequencies from 0 to the highest, of which the others are mirror images.
LTR_EXPORT Tensor rfft(const Tensor& x, const Str& norm);
/// The inverse of `rfft`: `n` real numbers, whose frequencies are floor(n / 2) + 1.
LTR_EXPORT Tensor irfft(const Tensor& x, int64_t n, const Str& norm);
/// `fft` of rows and of columns, of images of complex numbers.
LTR_EXPORT Tensor fft2(const Tensor& x, const Str& norm);
/// The inverse of `fft2`.
LTR_EXPORT Tensor ifft2(const Tensor& x, const Str& norm);

// ---- stdlib/tensor/linear_algebra.ltr

/// The inverse. Of a matrix without one it stops with R3007; `solve` is faster and more exact than `inv(a) @ b`.
LTR_EXPORT Tensor inv(const Tensor& x);
/// The x of a x = b, column by column, by LU with pivots. Without exactly one it stops with R3007.
LTR_EXPORT Tensor solve(const Tensor& a, const Tensor& b);
/// The x of a x = b where `a` is zero above its diagonal, or below it with `upper`; the other half is not read. A zero on
/// the diagonal gives inf or nan.
LTR_EXPORT Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper);
/// The x of the least |a x - b|, column by column; of several the shortest. It has a gradient where the columns of `a`, or
/// its rows if they are fewer, are independent.
LTR_EXPORT Tensor lstsq(const Tensor& a, const Tensor& b);
/// The determinant.
LTR_EXPORT Tensor det(const Tensor& x);
/// Sign and logarithm of the absolute value of the determinant: 0 and -inf of a matrix without inverse.
LTR_EXPORT std::tuple<Tensor, Tensor> slogdet(const Tensor& x);
/// The lower triangle l of a symmetric positive definite matrix x = l lᵀ, of which the upper half is not read. Of another
/// one it stops with R3007.
LTR_EXPORT Tensor cholesky(const Tensor& x);
/// x = q r: columns of `q` are unit vectors at right angles, `r` is zero below its diagonal. It has a gradient where N >= M
/// and the columns are independent.
LTR_EXPORT std::tuple<Tensor, Tensor> qr(const Tensor& x);
/// x = u diag(s) vᵀ, as (u, s, vᵀ): `s` falls. Signs of a column of `u` and of its row of vᵀ are free, so a loss must not
/// hang on them; gradients through `u` and vᵀ want values of `s` that differ.
LTR_EXPORT std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& x);
/// The singular values alone, which always have a gradient where they differ from 0.
LTR_EXPORT Tensor svdvals(const Tensor& x);
/// x = v diag(w) vᵀ of a symmetric matrix, of which the upper half is not read, as (w, v): `w` rises. As `svd` of signs and
/// gradients.
LTR_EXPORT std::tuple<Tensor, Tensor> eigh(const Tensor& x);
/// The eigenvalues of a symmetric matrix alone, rising.
LTR_EXPORT Tensor eigvalsh(const Tensor& x);
/// Moore's and Penrose's inverse; singular values below `rcond` times the largest are taken for 0, which is by itself the
/// larger of N and M times the distance of 1 to the next number.
LTR_EXPORT Tensor pinv(const Tensor& x, Option<double> rcond);
/// exp of a matrix: I + x + x²/2 + …
LTR_EXPORT Tensor matrix_exp(const Tensor& x);
/// A norm of each matrix: the root of the sum of squares (`fro`), the sum of the singular values (`nuc`), the largest of them
/// (`spectral`), or the largest sum of absolute values of a column (`columns`) or row (`rows`).
LTR_EXPORT Tensor matrix_norm(const Tensor& x, const Str& kind);

// ---- stdlib/tensor/matmul.ltr

/// The matrix product of the last two axes, `a @ b`; leading axes broadcast. A vector is a row on the left, a column
/// on the right.
LTR_EXPORT Tensor matmul(const Tensor& a, const Tensor& b);
/// The matrix product batch by batch.
LTR_EXPORT Tensor bmm(const Tensor& a, const Tensor& b);
/// Einstein's sum: `einsum("bij,bjk->bik", a, b)`, or with the tensors in a list.
LTR_EXPORT Tensor einsum(const Str& pattern, const Tensors& tensors);
/// x Wᵀ + b.
LTR_EXPORT Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
/// x₁ᵀ W x₂ + b.
LTR_EXPORT Tensor bilinear(const Tensor& left, const Tensor& right, const Tensor& weight, const Tensor& bias);
/// The rows `index` of `weight`. An index outside [0, V) is R3007.
LTR_EXPORT Tensor embedding(const Tensor& index, const Tensor& weight);

// ---- stdlib/tensor/normalization.ltr

/// (x - mean) / sqrt(var + eps) over the last axis, times `weight`, plus `bias`. Ba et al. 2016.
LTR_EXPORT Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);
/// x / sqrt(mean(x²) + eps) over the last axis, times `weight`. Zhang and Sennrich 2019.
LTR_EXPORT Tensor rms_norm(const Tensor& x, const Tensor& weight, Option<double> eps);
/// Over each of `groups` groups of channels and all places. Wu and He 2018.
LTR_EXPORT Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps);
/// Over the places of each channel of each sample. Ulyanov et al. 2016.
LTR_EXPORT Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);
/// Per channel, over the batch and all places. In training from the batch, which also moves `mean` and `var` by
/// `momentum` and counts in `seen` (in place); in evaluation from `mean` and `var`. Ioffe and Szegedy 2015.
LTR_EXPORT Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& var, const Tensor& seen, double momentum, double eps);

// ---- stdlib/tensor/pooling.ltr

/// The largest of each window of `kernel` elements, which are `dilation` apart. `ceil_mode` rounds the number of windows up: the last one
/// may reach beyond the padding, if it begins before it.
LTR_EXPORT Tensor max_pool1d(const Tensor& x, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode);
/// The largest of each window, `kernel` high and wide, likewise; sizes are one int, or height and width.
LTR_EXPORT Tensor max_pool2d(const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& padding, const Ints& dilation, bool ceil_mode);
/// The mean of each window; padding counts as zeros, or without `count_include_pad` not at all. `ceil_mode` rounds the number of windows
/// up; what lies beyond the padding never counts.
LTR_EXPORT Tensor avg_pool1d(const Tensor& x, int64_t kernel, int64_t stride, int64_t padding, bool count_include_pad, bool ceil_mode);
/// The mean of each window of an image, likewise.
LTR_EXPORT Tensor avg_pool2d(const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& padding, bool count_include_pad, bool ceil_mode);
/// Means over windows chosen so that `size` remain.
LTR_EXPORT Tensor adaptive_avg_pool1d(const Tensor& x, int64_t size);
/// Means over windows chosen so that `size` rows and columns remain.
LTR_EXPORT Tensor adaptive_avg_pool2d(const Tensor& x, const Ints& size);

// ---- stdlib/tensor/recurrent.ltr

/// Long short-term memory; gates input, forget, cell, output. Gives all outputs, the last output and the last cell.
/// Hochreiter and Schmidhuber 1997, with forget gates.
LTR_EXPORT std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh, bool reverse);
/// Gated recurrent unit; gates reset, update, new. Gives all outputs and the last one. Cho et al. 2014.
LTR_EXPORT std::tuple<Tensor, Tensor> gru(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh, bool reverse);
/// h = tanh(W x + U h + b), or relu. Gives all outputs and the last one. Elman 1990.
LTR_EXPORT std::tuple<Tensor, Tensor> rnn(const Tensor& x, const Tensor& h, const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh, const Str& nonlinearity, bool reverse);

// ---- stdlib/tensor/reduction.ltr

/// The sum; of `bool` and integers it is `i64`.
LTR_EXPORT Tensor sum(const Tensor& x, Option<int64_t> dim, bool keepdim);
/// The arithmetic mean; nan of nothing.
LTR_EXPORT Tensor mean(const Tensor& x, Option<int64_t> dim, bool keepdim);
/// The variance; with `unbiased` divided by n - 1, as in PyTorch.
LTR_EXPORT Tensor var(const Tensor& x, Option<int64_t> dim, bool keepdim, bool unbiased);
/// The standard deviation; with `unbiased` divided by n - 1, as in PyTorch.
LTR_EXPORT Tensor std_(const Tensor& x, Option<int64_t> dim, bool keepdim, bool unbiased);
/// The smallest element; nan wins. Its gradient goes to one of equal elements if `dim` is given, else is shared.
LTR_EXPORT Tensor min(const Tensor& x, Option<int64_t> dim, bool keepdim);
/// The largest element; nan wins.
LTR_EXPORT Tensor max(const Tensor& x, Option<int64_t> dim, bool keepdim);
/// The place of the smallest element; of equal ones the first.
LTR_EXPORT Tensor argmin(const Tensor& x, Option<int64_t> dim, bool keepdim);
/// The place of the largest element; of equal ones the first.
LTR_EXPORT Tensor argmax(const Tensor& x, Option<int64_t> dim, bool keepdim);
/// Whether any element is not zero.
LTR_EXPORT Tensor any(const Tensor& x, Option<int64_t> dim, bool keepdim);
/// Whether no element is zero.
LTR_EXPORT Tensor all(const Tensor& x, Option<int64_t> dim, bool keepdim);
/// The product; of integers it is `i64`.
LTR_EXPORT Tensor prod(const Tensor& x, Option<int64_t> dim, bool keepdim);
/// log(sum(exp(x))), without overflow.
LTR_EXPORT Tensor logsumexp(const Tensor& x, Option<int64_t> dim, bool keepdim);
/// The p-norm: (sum |x|^p)^(1/p).
LTR_EXPORT Tensor norm(const Tensor& x, double p, Option<int64_t> dim, bool keepdim);
/// Running sums along `dim`; of `bool` and integers `i64`.
LTR_EXPORT Tensor cumsum(const Tensor& x, int64_t dim);
/// Running products along `dim`; of integers `i64`.
LTR_EXPORT Tensor cumprod(const Tensor& x, int64_t dim);
/// Logarithms of running sums of exp(x) along `dim`, without overflow.
LTR_EXPORT Tensor logcumsumexp(const Tensor& x, int64_t dim);
/// The `k` largest elements along `dim`, falling, and their places. `k` is at most the size of `dim`.
LTR_EXPORT std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim);
/// The elements in order along `dim`, and their places. Equal elements keep their order.
LTR_EXPORT std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim, bool descending);
/// The different values, rising.
LTR_EXPORT Tensor unique(const Tensor& x);
/// Places in rising order, from 1; equal elements share the mean of theirs.
LTR_EXPORT Tensor ranks(const Tensor& x);
/// What a falling threshold finds: the different scores, falling, and how many labels 1 and 0 have at least that score.
LTR_EXPORT std::tuple<Tensor, Tensor, Tensor> score_curve(const Tensor& scores, const Tensor& label);
/// The least number of insertions, deletions and replacements that make row i of `a` row i of `b`, each cut at its first
/// `end`. Levenshtein 1966.
LTR_EXPORT Tensor edit_distances(const Tensor& a, const Tensor& b, int64_t end);
/// Where a `label` counts: everywhere but where it equals `ignore`. One that counts and is not in [0, classes) is R3007,
/// which calls it `what`.
LTR_EXPORT Tensor counted(const Tensor& label, Option<int64_t> ignore, int64_t classes, const Str& what);
/// How often each class in [0, classes) stands in `label` where `counted` holds; any other value there is R3007.
LTR_EXPORT Tensor class_counts(const Tensor& label, const Tensor& counted, int64_t classes);
/// How often each pair occurs where `counted` holds: row `label`, column `predicted`, both in [0, classes); any other
/// value there is R3007.
LTR_EXPORT Tensor confusion_counts(const Tensor& predicted, const Tensor& label, const Tensor& counted, int64_t classes);

// ---- stdlib/tensor/sampling.ltr

/// `x` at the places of `grid`: between pixels they are weighed, or the nearest is taken. Outside of the image there is 0, the
/// pixel of the border, or the image mirrored. Jaderberg et al. 2015; as torch's grid_sample.
LTR_EXPORT Tensor grid_sample(const Tensor& x, const Tensor& grid, const Str& mode, const Str& outside, bool align_corners);

// ---- stdlib/tensor/shape.ltr

/// The same elements in order, in dims with the same product. One may be -1: what remains.
LTR_EXPORT Tensor reshape(const Tensor& x, const Ints& dims);
/// The axes from `start` to `end`, both included, as one.
LTR_EXPORT Tensor flatten(const Tensor& x, int64_t start, int64_t end);
/// The axes in the order given.
LTR_EXPORT Tensor permute(const Tensor& x, const Ints& axes);
/// Two axes exchanged.
LTR_EXPORT Tensor transpose(const Tensor& x, int64_t a, int64_t b);
/// Without the axis `dim`, which must be 1; without `dim`, without any axis that is 1 by its type. One called `B` stays.
LTR_EXPORT Tensor squeeze(const Tensor& x, Option<int64_t> dim);
/// With a new axis of size 1 at `dim`.
LTR_EXPORT Tensor unsqueeze(const Tensor& x, int64_t dim);
/// Axes of size 1 stretched; -1 keeps an axis.
LTR_EXPORT Tensor expand(const Tensor& x, const Ints& dims);
/// One behind the other along `dim`.
LTR_EXPORT Tensor cat(const Tensors& tensors, int64_t dim);
/// One behind the other along a new axis `dim`.
LTR_EXPORT Tensor stack(const Tensors& tensors, int64_t dim);
/// `n` equal parts along `dim`, whose size must divide.
LTR_EXPORT Tensors chunk(const Tensor& x, int64_t n, int64_t dim);
/// Parts of the sizes given along `dim`, whose sum is its size.
LTR_EXPORT Tensors split(const Tensor& x, const Ints& sizes, int64_t dim);
/// In reverse along the axes given: `x.flip(0)`, `x.flip(-1, -2)`.
LTR_EXPORT Tensor flip(const Tensor& x, const Ints& axes);
/// Shifted by `shift` along `dim`; what falls off comes in at the other end.
LTR_EXPORT Tensor roll(const Tensor& x, int64_t shift, int64_t dim);
/// The tensor repeated so often along each axis.
LTR_EXPORT Tensor repeat(const Tensor& x, const Ints& counts);
/// Zero above the diagonal `diagonal` of the last two axes.
LTR_EXPORT Tensor tril(const Tensor& x, int64_t diagonal);
/// Zero below the diagonal `diagonal` of the last two axes.
LTR_EXPORT Tensor triu(const Tensor& x, int64_t diagonal);
/// The diagonal of the axes `a` and `b`, as last axis.
LTR_EXPORT Tensor diagonal(const Tensor& x, int64_t offset, int64_t a, int64_t b);
/// Borders added; `sizes` are before and after, the last axis first, as in PyTorch. Those that `reflect` mirrors are less
/// than there is, those of `circular` as much at most, and other borders than `constant` ones want one or two axes in front;
/// `value` is what `constant` fills with.
LTR_EXPORT Tensor pad(const Tensor& x, const Ints& sizes, const Str& mode, double value);
/// Images of another size. `nearest` repeats pixels, the others weigh neighbours; with `align_corners` the centres of
/// the corner pixels stay where they are. As PyTorch's interpolate, without antialiasing.
LTR_EXPORT Tensor interpolate(const Tensor& x, int64_t height, int64_t width, const Str& mode, bool align_corners);
/// The elements at `index` along `dim`; `index` has the shape of the result.
LTR_EXPORT Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
/// `x` with the elements of `source` put at `index` along `dim`. `source` has the shape of `index`, or is one number.
/// Of several elements for one place any may win: `scatter_add` adds them.
LTR_EXPORT Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// `x` plus the elements of `source` at `index` along `dim`.
LTR_EXPORT Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// The rows `index` of `dim`.
LTR_EXPORT Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
/// Element `index` of `dim`, which goes: `x[2]` is `select(x, 0, 2)`.
LTR_EXPORT Tensor select(const Tensor& x, int64_t dim, int64_t index);

// ---- stdlib/losses/classification.ltr

/// -log softmax(logits)[target], averaged over the samples that are not ignored.
///   logits   float[N, C, ...]  raw scores, not probabilities
///   target   i64[N, ...]       classes in [0, C), or `ignore_index` where it is given; any other value is R3007
///            float[N, C, ...]  probabilities instead: `soft_cross_entropy`
///   weight   float[C]          of each class; the mean is weighted too
///   returns  nats per sample; nan if every sample is ignored
/// As PyTorch's CrossEntropyLoss, but that `ignore_index` has no default: where -100 shall be passed over, as there, say
/// `ignore_index = -100`. Label smoothing as in Szegedy et al. 2016, section 7.
LTR_EXPORT Tensor cross_entropy(const Tensor& logits, const Tensor& target, const Tensor& weight, Option<int64_t> ignore_index, double label_smoothing, const Str& reduction);
/// The same against probabilities, such as smoothed or mixed labels: -sum(probs · log softmax(logits)), a mean over samples.
LTR_EXPORT Tensor soft_cross_entropy(const Tensor& logits, const Tensor& probs, const Tensor& weight, double label_smoothing, const Str& reduction);
/// -log_probs[target]: cross entropy behind `log_softmax`.
LTR_EXPORT Tensor nll(const Tensor& log_probs, const Tensor& target, const Tensor& weight, Option<int64_t> ignore_index, const Str& reduction);
/// -(y log p + (1 - y) log(1 - p)) for probabilities; logarithms are at least -100.
LTR_EXPORT Tensor bce(const Tensor& probs, const Tensor& target, const Str& reduction);
/// The same for raw scores, without overflow; `pos_weight` multiplies the loss of positive targets: one number, of
/// each element, or of each place of the last dims, `float[C]` of `float[N, C]`.
LTR_EXPORT Tensor bce_with_logits(const Tensor& logits, const Tensor& target, const Tensor& pos_weight, const Str& reduction);
/// -(1 - p)^γ log p of the true class. Lin et al. 2017, without α: `sigmoid_focal` has it, and of classes
/// `mean(alpha[y] * focal(x, y, reduction = none))`.
LTR_EXPORT Tensor focal(const Tensor& logits, const Tensor& target, double gamma, const Str& reduction);
/// 1 - 2 |p ∩ y| / (|p| + |y|), a mean over samples; `probs` and `target` lie in [0, 1]. Milletari et al. 2016.
LTR_EXPORT Tensor dice(const Tensor& probs, const Tensor& target, double smooth);
/// x for y = 1, max(0, margin - x) for y = -1, as PyTorch's HingeEmbeddingLoss.
LTR_EXPORT Tensor hinge(const Tensor& x, const Tensor& target, double margin, const Str& reduction);
/// -log of the probability of each target, which `ctc` sums up.
LTR_EXPORT Tensor ctc_each(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank, bool zero_infinity);
/// InfoNCE: row i of `a` shall find row i of `b` among all rows, by cosine similarity over `temperature`.
LTR_EXPORT Tensor contrastive(const Tensor& a, const Tensor& b, double temperature);

// ---- stdlib/losses/regression.ltr

/// (x - y)².
LTR_EXPORT Tensor mse(const Tensor& x, const Tensor& target, const Str& reduction);
/// |x - y|.
LTR_EXPORT Tensor l1(const Tensor& x, const Tensor& target, const Str& reduction);
/// (x - y)² / (2 beta) below beta, else |x - y| - beta / 2. Girshick 2015.
LTR_EXPORT Tensor smooth_l1(const Tensor& x, const Tensor& target, double beta, const Str& reduction);
/// (x - y)² / 2 below delta, else delta (|x - y| - delta / 2). Huber 1964.
LTR_EXPORT Tensor huber(const Tensor& x, const Tensor& target, double delta, const Str& reduction);
/// p (log p - x) for log probabilities `x`; `batchmean` divides by the rows only, which is the divergence.
LTR_EXPORT Tensor kl_div(const Tensor& log_probs, const Tensor& probs, const Str& reduction);
/// exp(x) - y x for the logarithm `x` of a rate.
LTR_EXPORT Tensor poisson_nll(const Tensor& log_rate, const Tensor& target, const Str& reduction);
/// (log v + (x - y)² / v) / 2, v at least `eps`.
LTR_EXPORT Tensor gaussian_nll(const Tensor& x, const Tensor& target, const Tensor& variance, double eps, const Str& reduction);
/// 1 - cos(a, b) where the target is 1, max(0, cos(a, b) - margin) where it is -1.
LTR_EXPORT Tensor cosine_embedding(const Tensor& a, const Tensor& b, const Tensor& target, double margin, const Str& reduction);
/// max(0, |a - p| - |a - n| + margin), Euclidean.
LTR_EXPORT Tensor triplet_margin(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, const Str& reduction);
LTR_STEP_END

// ---- stdlib/tensor/arithmetic.ltr

/// The number of elements.
LTR_EXPORT int64_t numel(const Tensor& x);

// ---- stdlib/tensor/creation.ltr

/// The place of `text` in `classes`. A text that is none of them is of class `other`, R3007 without it; one that is missing
/// is of class `missing`, R3003 without it.
LTR_EXPORT int64_t class_of(const Option<Str>& text, const std::vector<Str>& classes, Option<int64_t> missing, Option<int64_t> other);

// ---- stdlib/init/scaled.ltr

/// Uniform in ±gain sqrt(6 / (inputs + outputs)). Glorot and Bengio 2010.
LTR_EXPORT Tensor xavier_uniform(const Ints& dims, double gain);
/// Normal with deviation gain sqrt(2 / (inputs + outputs)).
LTR_EXPORT Tensor xavier_normal(const Ints& dims, double gain);
/// Uniform in ±gain sqrt(3 / inputs); the gain of relu. He et al. 2015.
LTR_EXPORT Tensor kaiming_uniform(const Ints& dims, double gain);
/// Normal with deviation gain / sqrt(inputs).
LTR_EXPORT Tensor kaiming_normal(const Ints& dims, double gain);
/// Rows (or columns, if there are more rows) at right angles. Saxe et al. 2014.
LTR_EXPORT Tensor orthogonal(const Ints& dims, double gain);
/// Normal, drawn again outside of ±2 deviations.
LTR_EXPORT Tensor trunc_normal(const Ints& dims, double mean, double std);

// ---- stdlib/vision/augment.ltr

/// Each channel's values spread so that each occurs as often as any other, as far as whole numbers let them.
LTR_EXPORT Tensor equalize(const Tensor& image);
/// Between the image, smoothed by a 3 × 3 kernel, at `factor` 0, the image at 1, and sharper beyond.
LTR_EXPORT Tensor sharpness(const Tensor& image, double factor);
/// With probability `p` seen from another place: each corner moves inwards by at most `distortion` of half the size; bilinear,
/// black outside.
LTR_EXPORT Tensor random_perspective(const Tensor& image, double distortion, double p);
/// `ops` of fourteen operations in a row (shear, shift, turn, brightness, colour, contrast, sharpness, posterize, solarize, …), each
/// drawn anew, with a strength of `magnitude` of 31 steps. Cubuk et al. 2020.
LTR_EXPORT Tensor rand_augment(const Tensor& image, int64_t ops, int64_t magnitude);
/// One operation, drawn as its strength is, from wider ranges than those of `rand_augment`. Müller and Hutter 2021.
LTR_EXPORT Tensor trivial_augment(const Tensor& image);
/// Images and labels of a batch mixed with those of their neighbour, behind `collate`: λ a + (1 - λ) b with one λ of
/// Beta(`alpha`, `alpha`) for the batch. The labels become shares of `classes`, for `soft_cross_entropy`. Zhang et al. 2018.
LTR_EXPORT std::tuple<Tensor, Tensor> mixup(const Tensor& images, const Tensor& labels, int64_t classes, double alpha);
/// As `mixup`, but a rectangle of the neighbour, of 1 - λ of the area, stands in the image. Yun et al. 2019.
LTR_EXPORT std::tuple<Tensor, Tensor> cutmix(const Tensor& images, const Tensor& labels, int64_t classes, double alpha);

// ---- stdlib/vision/images.ltr

/// Rotation by at most `degrees`, shifts of at most `translate` of width and height, a factor in `scale`, rows that lean by at most
/// `shear` degrees; bilinear, black outside. As torchvision's RandomAffine.
LTR_EXPORT Tensor random_affine(const Tensor& image, double degrees, double translate, const std::tuple<double, double>& scale, double shear);
/// Images side by side, `columns` to a row, two black pixels apart. As torchvision's make_grid.
LTR_EXPORT Tensor image_grid(const Tensor& images, int64_t columns);
/// Writes a PNG file of an image with values in 0 to 1; makes missing folders.
LTR_EXPORT void save_png(const Tensor& x, const Str& path);

// ---- stdlib/vision/maps.ltr

/// The image as `height` × `width`, bilinear with antialiasing.
LTR_EXPORT Tensor resize(const Tensor& image, int64_t height, int64_t width);
/// The middle, black where the image is smaller.
LTR_EXPORT Tensor center_crop(const Tensor& image, int64_t height, int64_t width);
/// A part anywhere, after `padding` black pixels on each side. R1006 if the image is smaller.
LTR_EXPORT Tensor random_crop(const Tensor& image, int64_t height, int64_t width, int64_t padding);
/// A part of `scale` of the area and of `ratio` (width by height), resized. Szegedy et al. 2015.
LTR_EXPORT Tensor random_resized_crop(const Tensor& image, int64_t height, int64_t width, const std::tuple<double, double>& scale, const std::tuple<double, double>& ratio);
/// Left and right exchanged with probability `p`.
LTR_EXPORT Tensor random_flip(const Tensor& image, double p);
/// Top and bottom exchanged with probability `p`.
LTR_EXPORT Tensor random_vflip(const Tensor& image, double p);
/// Turned by at most `degrees`, bilinear, black outside.
LTR_EXPORT Tensor random_rotation(const Tensor& image, double degrees);
/// `size` more pixels of `value` on each side.
LTR_EXPORT Tensor pad_image(const Tensor& image, int64_t size, double value);
/// Bytes as numbers from 0 to 1; other types as they are.
LTR_EXPORT Tensor to_float(const Tensor& image);
/// (x - mean) / std per channel, after `to_float`. The lists have one number for each channel.
LTR_EXPORT Tensor normalize(const Tensor& image, const Floats& mean, const Floats& std);
/// 0.2989 red + 0.587 green + 0.114 blue, in `channels` equal channels.
LTR_EXPORT Tensor grayscale(const Tensor& image, int64_t channels);
/// Brightness, contrast and saturation times a factor in [1 - x, 1 + x], and all colours turned by a part of the circle in
/// [-hue, hue], in random order. As torchvision's ColorJitter.
LTR_EXPORT Tensor color_jitter(const Tensor& image, double brightness, double contrast, double saturation, double hue);
/// Weighted means over `kernel` × `kernel` pixels, mirrored at the borders. `kernel` is odd.
LTR_EXPORT Tensor gaussian_blur(const Tensor& image, int64_t kernel, double sigma);
/// Every channel stretched to the whole range.
LTR_EXPORT Tensor auto_contrast(const Tensor& image);
/// The first `bits` bits of each byte.
LTR_EXPORT Tensor posterize(const Tensor& image, int64_t bits);
/// What is at least `threshold`, inverted: `threshold` is in the image's own range.
LTR_EXPORT Tensor solarize(const Tensor& image, double threshold);
/// With probability `p` a rectangle of `scale` of the area and of `ratio` (height by width) becomes `value`. Zhong et
/// al. 2017.
LTR_EXPORT Tensor random_erasing(const Tensor& image, double p, const std::tuple<double, double>& scale, const std::tuple<double, double>& ratio, double value);

// ---- stdlib/vision/pairs.ltr

/// Both with left and right exchanged with probability `p`.
LTR_EXPORT std::tuple<Tensor, Tensor> random_flip_pair(const Tensor& image, const Tensor& mask, double p);
/// Both with top and bottom exchanged with probability `p`.
LTR_EXPORT std::tuple<Tensor, Tensor> random_vflip_pair(const Tensor& image, const Tensor& mask, double p);
/// The same part of both, anywhere, after `padding` black pixels on each side, of class `outside` in the mask. R1006 if they are smaller.
LTR_EXPORT std::tuple<Tensor, Tensor> random_crop_pair(const Tensor& image, const Tensor& mask, int64_t height, int64_t width, int64_t padding, int64_t outside);
/// The same part of both, of `scale` of the area and of `ratio` (width by height), resized.
LTR_EXPORT std::tuple<Tensor, Tensor> random_resized_crop_pair(const Tensor& image, const Tensor& mask, int64_t height, int64_t width, const std::tuple<double, double>& scale, const std::tuple<double, double>& ratio);
/// Both turned by the same angle of at most `degrees`; outside is black, and of class `outside` in the mask.
LTR_EXPORT std::tuple<Tensor, Tensor> random_rotation_pair(const Tensor& image, const Tensor& mask, double degrees, int64_t outside);
/// Both as `height` × `width`.
LTR_EXPORT std::tuple<Tensor, Tensor> resize_pair(const Tensor& image, const Tensor& mask, int64_t height, int64_t width);

// ---- stdlib/str/text.ltr

/// Number of code points; written `s.length`.
LTR_EXPORT int64_t length(const Str& s);
/// Where `part` begins in `s` for the first time, -1 if it is nowhere.
LTR_EXPORT int64_t find(const Str& s, const Str& part);
/// The text in small letters, by Unicode's simple mapping.
LTR_EXPORT Str lower(const Str& s);
/// The text in capital letters, by Unicode's simple mapping.
LTR_EXPORT Str upper(const Str& s);
/// Without the white space at both ends.
LTR_EXPORT Str strip(const Str& s);
/// `by` in each place of `part`, from left to right; an empty `part` is nowhere.
LTR_EXPORT Str replace(const Str& s, const Str& part, const Str& by);
/// Whether `s` begins with `part`.
LTR_EXPORT bool starts_with(const Str& s, const Str& part);
/// Whether `s` ends with `part`.
LTR_EXPORT bool ends_with(const Str& s, const Str& part);
/// Whether `part` is in `s`.
LTR_EXPORT bool contains(const Str& s, const Str& part);
/// Its code points, each a text.
LTR_EXPORT std::vector<Str> chars(const Str& s);
/// Its bytes in UTF-8.
LTR_EXPORT Tensor bytes(const Str& s);
/// The parts between runs of white space, none of them empty; with `at` the parts between each `at`, empty ones too.
LTR_EXPORT std::vector<Str> split(const Str& s, const Option<Str>& at);
/// The parts in a row with `between` between them: `["a", "b"].join(", ")`.
LTR_EXPORT Str join(const std::vector<Str>& parts, const Str& between);

}  // namespace ltr
