"""Random calls of the library's functions, layers, models, metrics, sources and stages, with sizes by chance: tests that print or update, and
data. What they are worth is for the tests of `stdlib/`; here they meet one another and the compiler."""

# In braces sizes by chance: b and c from 2 to 4, h and w from 4 to 6, n is twice another one.
VALUES = """
relu6(randn({b})); gelu(randn({b}), form = tanh); silu(randn({b}, {c})); mish(randn({b})); elu(randn({b}), alpha = 0.5); selu(randn({b})); softplus(randn({b}))
prelu(randn({b}, {c}), full({c}, 0.1)); hardswish(randn({b})); glu(randn({b}, {n})); swiglu(randn({b}, {n})); softmax(randn({b}, {c}), dim = 1)
log_softmax(randn({b}, {c}), 1); dropout(ones({b}), 0.5); logsigmoid(randn({b})); dropout2d(ones({b}, {c}, 2, 2)); exp(randn({b})); log(rand({b}) + 1.0)
log1p(rand({b})); sqrt(rand({b})); rsqrt(rand({b}) + 0.5); sin(randn({b})); cos(randn({b})); tanh(randn({b})); sigmoid(randn({b})); erf(randn({b}))
round(randn({b})); floor(randn({b})); ceil(randn({b})); sign(randn({b})); pow(rand({b}), full({b}, 2.0)); square(randn({b}))
minimum(randn({b}), zeros({b})); maximum(randn({b}, {c}), zeros({c})); clamp(randn({b}), min = 0.0); masked_fill(randn({b}), zeros({b}) < 1.0, 2.0)
isnan(randn({b})); isfinite(randn({b})); clone(randn({b})); stop_grad(randn({b})); numel(randn({b}, {c})); or_else(none, 3)
attention(randn({b}, 2, {h}, 4), randn({b}, 2, {h}, 4), randn({b}, 2, {h}, 4), causal = true); rope(randn({b}, 2, {h}, 4)); alibi({b}, {h})
conv1d(randn({b}, {c}, {h}), randn(2, {c}, 3)); conv2d(randn({b}, {c}, {h}, {w}), randn(2, {c}, 3, 2)); conv3d(randn(1, {c}, {h}, {h}, {w}), randn(2, {c}, 2, 2, 2))
conv_transpose1d(randn({b}, {c}, {h}), randn({c}, 2, 3)); conv_transpose2d(randn({b}, {c}, {h}, {w}), randn({c}, 2, 3, 2))
conv_transpose3d(randn(1, {c}, 2, 2, 2), randn({c}, 2, 2, 2, 2)); pixel_shuffle(randn({b}, 4 * {c}, {h}, {w}), 2); linspace(0.0, 1.0, {h}); eye({h})
one_hot(randint(0, {c}, [{b}]), {c}); randperm({h}); bernoulli(rand({b})); sample(softmax(randn({b}, {c}), 1)); rand({b}, {c}); normal({b}, {c}, std = 0.5)
uniform({b}, low = -1.0, high = 1.0); class_of("b", ["a", "b"]); class_of(none, ["a"], missing = {c}); matmul(randn({b}, {c}), randn({c}, {h}))
bmm(randn({b}, {c}, 2), randn({b}, 2, {h})); einsum("bi,ij->bj", [randn({b}, {c}), randn({c}, {h})]); bilinear(randn({b}, {c}), randn({b}, {h}), randn(2, {c}, {h}))
embedding(randint(0, {c}, [{b}, {h}]), randn({c}, 3)); layer_norm(randn({b}, {c})); rms_norm(randn({b}, {c})); group_norm(randn({b}, {n}, {h}), 2)
instance_norm(randn({b}, {c}, {h})); batch_norm(randn({b}, {c}, 3), none, none, zeros({c}), ones({c}), full(0)); max_pool1d(randn({b}, {c}, {h}), 2, dilation = 3); max_pool2d(randn({b}, {c}, {h}, {w}), (2, 1), ceil_mode = true); avg_pool1d(randn({b}, {c}, {h}), 2, stride = 1)
avg_pool2d(randn({b}, {c}, {h}, {w}), 2, ceil_mode = true, count_include_pad = false); adaptive_avg_pool1d(randn({b}, {c}, {h}), 2); adaptive_avg_pool2d(randn({b}, {c}, {h}, {w}), (2, 1))
gru(randn({b}, {h}, {c}), zeros({b}, 2), randn(6, {c}), randn(6, 2)); rnn(randn({b}, {h}, {c}), zeros({b}, 2), randn(2, {c}), randn(2, 2))
lstm(randn({b}, {h}, {c}), zeros({b}, 2), zeros({b}, 2), randn(8, {c}), randn(8, 2)); var(randn({b}, {c}), 1); std(randn({b}, {c})); argmin(randn({b}, {c}), 1)
any(randn({b}) > 0.0); all(randn({b}) < 9.0); prod(randn({b}, {c}), 0); logsumexp(randn({b}, {c}), 1, keepdim = true); norm(randn({b}, {c}), dim = 1)
cumsum(randn({b}, {c}), 1); cumprod(randn({b}, {c}), 0); logcumsumexp(randn({b}, {c}), 1); topk(randn({b}, {h}), 2); sort(randn({b}, {c}), descending = true)
unique(randint(0, {c}, [{h}])); ranks(randn({h})); score_curve(randn({h}), randint(0, 2, [{h}])); edit_distances(randint(1, 3, [{b}, 4]), randint(1, 3, [{b}, 3]), 0)
counted(randint(0, {c}, [{b}]), none, {c}); class_counts(randint(0, {c}, [{b}]), zeros({b}) < 1.0, {c})
confusion_counts(randint(0, {c}, [{b}]), randint(0, {c}, [{b}]), zeros({b}) < 1.0, {c}); permute(randn({b}, {c}, 2), [2, 0, 1]); squeeze(randn({b}, 1), 1)
unsqueeze(randn({b}), 0); expand(randn({b}, 1), [{b}, {c}]); cat([randn({b}, {c}), randn(1, {c})]); chunk(randn({n}, {c}), 2); split(randn({h}, {c}), [1, {h} - 1])
flip(randn({b}, {c}), [1]); roll(randn({b}, {c}), 1, 0); repeat(randn({b}), [{c}]); tril(randn({b}, {c})); triu(randn({b}, {c}), 1); diagonal(randn({b}, {c}))
pad(randn({b}, {c}), [1, 0]); interpolate(randn({b}, {c}, {h}, {w}), {n}, 3); gather(randn({b}, {c}), 1, randint(0, {c}, [{b}, 2]))
scatter(zeros({b}, {c}), 1, randint(0, {c}, [{b}, 1]), ones({b}, 1)); scatter_add(zeros({b}, {c}), 1, randint(0, {c}, [{b}, 2]), ones({b}, 2))
index_select(randn({h}, {c}), 0, randint(0, {h}, [{b}])); select(randn({b}, {c}), 1, 0); random_affine(rand(3, {h}, {w}), 10.0); image_grid(rand({b}, 3, {h}, {w}))
resize(rand({c}, {h}, {w}), {n}, 3); center_crop(rand({c}, {h}, {w}), 2, 3); random_crop(rand({c}, {h}, {w}), 3, 3, padding = 1)
random_resized_crop(rand({c}, {h}, {w}), 3, 2); random_flip(rand({c}, {h}, {w})); random_vflip(rand({c}, {h}, {w})); random_rotation(rand({c}, {h}, {w}), 5.0)
pad_image(rand({c}, {h}, {w}), 2); to_float(randint(0, 255, [{h}]).to(u8)); normalize(rand(3, {h}, {w}), [0.5, 0.5, 0.5], [0.2, 0.2, 0.2])
grayscale(rand(3, {h}, {w})); color_jitter(rand(3, {h}, {w}), brightness = 0.2); gaussian_blur(rand({c}, {h}, {w}), 3, 1.0); auto_contrast(rand({c}, {h}, {w}))
posterize(randint(0, 255, [{h}]).to(u8), 4); solarize(rand({c}, {h}), 0.5); random_erasing(rand(3, {h}, {w})); equalize(randint(0, 255, [3, {h}, {w}]).to(u8)); sharpness(rand(3, {h}, {w}), 1.5); random_perspective(rand({c}, {h}, {w}))
rand_augment(randint(0, 255, [3, {h}, {w}]).to(u8), ops = 2); trivial_augment(randint(0, 255, [3, {h}, {w}]).to(u8)); mixup(rand({b}, {c}, {h}, {w}), randint(0, 3, [{b}]), 3); cutmix(rand({b}, {c}, {h}, {w}), randint(0, 3, [{b}]), 3)
random_flip_pair(rand({c}, {h}, {w}), zeros(1, {h}, {w}).to(u8)); random_vflip_pair(rand({c}, {h}, {w}), zeros(1, {h}, {w}).to(u8)); random_crop_pair(rand({c}, {h}, {w}), zeros(1, {h}, {w}).to(u8), 2, 2, padding = 1)
random_resized_crop_pair(rand({c}, {h}, {w}), zeros(1, {h}, {w}).to(u8), 3, 2); random_rotation_pair(rand({c}, {h}, {w}), zeros(1, {h}, {w}).to(u8), 5.0); resize_pair(rand({c}, {h}, {w}), zeros(1, {h}, {w}).to(u8), 3, 2)
soft_cross_entropy(randn({b}, {c}), softmax(randn({b}, {c}), 1)); nll(log_softmax(randn({b}, {c}), 1), randint(0, {c}, [{b}])); bce(rand({b}), rand({b}))
bce_with_logits(randn({b}), rand({b})); focal(randn({b}, {c}), randint(0, {c}, [{b}])); dice(rand({b}, {c}), rand({b}, {c})); hinge(randn({b}), ones({b}))
ctc(log_softmax(randn({n}, {b}, {c}), 2), randint(1, {c}, [{b}, 2]), full({b}, {n}), full({b}, 2)); ctc(log_softmax(randn({n}, {b}, {c}), 2), randint(1, {c}, [{b}, 2]), full({b}, {n}), full({b}, 2), reduction = none)
contrastive(randn({b}, {c}), randn({b}, {c}))
mse(randn({b}), randn({b})); l1(randn({b}), randn({b})); smooth_l1(randn({b}), randn({b}), beta = 0.5); huber(randn({b}), randn({b}), reduction = sum); l1(randn({b}, {c}), randn({b}, {c}), reduction = none)
cross_entropy(randn({b}, {c}), randint(0, {c}, [{b}]), reduction = none); kl_div(log_softmax(randn({b}, {c}), 1), softmax(randn({b}, {c}), 1), reduction = none)
kl_div(log_softmax(randn({b}, {c}), 1), softmax(randn({b}, {c}), 1)); poisson_nll(randn({b}), rand({b})); gaussian_nll(randn({b}), randn({b}), rand({b}) + 0.1)
cosine_embedding(randn({b}, {c}), randn({b}, {c}), ones({b})); triplet_margin(randn({b}, {c}), randn({b}, {c}), randn({b}, {c}))
"Ab c".length; "abc".find("c"); "Ab".lower(); "Ab".upper(); " a ".strip(); "aba".replace("a", "c"); "ab".starts_with("a"); "ab".ends_with("b"); "ab".contains("b")
"ab".chars(); "ab".bytes(); "a b".split(); ["a", "b"].join("-"); xavier_uniform({b}, {c}); xavier_normal({b}, {c}); kaiming_uniform({b}, {c})
kaiming_normal({b}, {c}); orthogonal({b}, {c}); trunc_normal({b}, std = 0.1)
hardtanh(randn({b})); hardsigmoid(randn({b}, {c})); softsign(randn({b})); tanhshrink(randn({b})); hardshrink(randn({b}), 0.2); softshrink(randn({b}))
celu(randn({b}), alpha = 0.5); threshold(randn({b}), 0.1, 0.0); log2(rand({b}) + 0.1); log10(rand({b}, {c}) + 0.1); tan(randn({b})); logaddexp(randn({b}), randn({b}))
lerp(randn({b}), randn({b}), 0.3); trunc(randn({b})); trace(randn({c}, {c})); cross(randn({b}, 3), randn({b}, 3)); unfold(randn({c}, {h}), 2); outer(randn({b}), randn({c})); kron(randn({b}, 2), randn(2, {c}))
cdist(randn({b}, {h}, 2), randn({b}, {w}, 2)); pairwise_distance(randn({b}, {c}), randn({b}, {c})); cosine_similarity(randn({b}, {c}), randn({b}, {c}))
meshgrid(arange({b}), arange({c})); median(randn({b}, {c})); quantile(randn({h}), 0.3); quantiles(randn({b}, {h}), [0.2, 0.5]); nanmean(randn({b})); cov(randn({b}, {h})); corrcoef(randn({b}, {h}))
searchsorted(linspace(0.0, 1.0, {h}), rand({b})); bincount(randint(0, {c}, [{b}]), {c}); max_pool3d(randn(1, {c}, {h}, {h}, {w}), 2)
avg_pool3d(randn(1, {c}, {h}, {h}, {w}), (2, 1, 2)); adaptive_avg_pool3d(randn(1, {c}, {h}, {h}, {w}), 2); adaptive_max_pool1d(randn({b}, {c}, {h}), 2)
adaptive_max_pool2d(randn({b}, {c}, {h}, {w}), (2, 1)); multi_margin(randn({b}, {c}), randint(0, {c}, [{b}])); multilabel_margin(randn({b}, {c}), ones({b}, {c}))
soft_margin(randn({b}), ones({b})); multilabel_soft_margin(randn({b}, {c}), rand({b}, {c})); margin_ranking(randn({b}), randn({b}), ones({b}))
inv(eye({c}) * 2.0); solve(eye({c}) * 2.0, randn({c}, {b})); solve_triangular(eye({c}), randn({c}, {h})); lstsq(randn({h}, {c}), randn({h}, {b})); det(randn({b}, {c}, {c}))
slogdet(randn({c}, {c})); cholesky(eye({c}) * 3.0); qr(randn({h}, {c})); svd(randn({b}, {c}, {h})); svdvals(randn({b}, {c})); eigh(eye({c})); eigvalsh(eye({c}) * 2.0)
pinv(randn({b}, {c}), rcond = 0.1); matrix_exp(randn({c}, {c})); matrix_norm(randn({b}, {c}, {h}), nuc); fft(randn({b}, {h}, 2)); ifft(randn({h}, 2), norm = ortho); rfft(randn({b}, {w}))
irfft(randn({b}, 3, 2), 4); fft2(randn({h}, {w}, 2)); ifft2(randn({b}, {h}, {w}, 2)); hann_window({h}); stft(randn({b}, 4 * {h}), {h}, 2, window = hann_window({h})); bucketize(randn({b}, {c}), linspace(-1.0, 1.0, {h}))
grid_sample(randn({b}, {c}, {h}, {w}), rand({b}, 3, 2, 2), nearest, border); affine_grid(randn({b}, 2, 3), {h}, {w}); length_mask(randint(0, {h}, [{b}]), {h})
bce_with_logits(randn({b}, {c}), rand({b}, {c}), pos_weight = rand({c}), reduction = none); tversky(rand({b}, {c}), rand({b}, {c}), alpha = 0.3); jaccard(rand({b}, {c}), rand({b}, {c})); sigmoid_focal(randn({b}), rand({b}))
poisson_nll(rand({b}), rand({b}) * 3, log_input = false, full = true); gaussian_nll(randn({b}), randn({b}), rand({b}) + 0.1, full = true); triplet_margin(randn({b}, {c}), randn({b}, {c}), randn({b}, {c}), p = 1.5, swap = true)
asin(rand({b})); acos(rand({b})); atan(randn({b}, {c})); atan2(randn({b}, {c}), randn({b}, {c})); expm1(randn({b})); sinh(randn({b})); cosh(randn({b}, {c})); isinf(log(rand({b})))
nan_to_num(log(randn({b}, {c})), neginf = -1.0); nansum(log(randn({b}))); diff(randn({b}, {h})); diag(randn({c})); diag_embed(randn({b}, {c})); histc(randn({b}, {h}), {c}, -1.0, 1.0)
gumbel_softmax(randn({b}, {c}), tau = 0.5, hard = true); interpolate1d(randn({b}, {c}, {h}), {n}, linear); interpolate3d(randn(1, {c}, 2, {h}, {w}), 3, {n}, {h}, trilinear)
adaptive_max_pool3d(randn(1, {c}, {h}, {h}, {w}), (2, 1, 2)); count_windows({h}, 2, {c}, 1, ceil_mode = true); hamming_window({h}); istft(randn({b}, 3, {h}, 2), 4, 2, window = hamming_window(4)); mel_filters(100, 16, {c}, high = 40.0)
mel_spectrogram(randn({b}, 40), 100, 16, 8, {c}); mfcc(randn({b}, 40), 100, 2, 16, 8, {c}); resample(randn({b}, 40), {b}, {c}, width = 3); time_mask(randn({b}, {h}, {w}), 3); frequency_mask(randn({h}, {w}), 3, value = 1.0)
"""

LAYERS = """
AdaptiveAvgPool1d(2) < randn({b}, {c}, {h}); AvgPool1d(2, padding = 1, count_include_pad = false) < randn({b}, {c}, {h}); AvgPool2d((2, 1)) < randn({b}, {c}, {h}, {w}); MaxPool1d(2) < randn({b}, {c}, {h})
BatchNorm1d({c}) < randn({b}, {c}); BatchNorm2d({c}) < randn({b}, {c}, 2, 2); SyncBatchNorm({c}) < randn({b}, {c}, 2, 2); InstanceNorm({c}) < randn({b}, {c}, 3)
GroupNorm(2, {n}) < randn({b}, {n}, 3); Conv1d({c}, 2, 3, padding = "same") < randn({b}, {c}, {h}); Conv2d({c}, 2, (3, 2), padding = (1, 0)) < randn({b}, {c}, {h}, {w})
Conv3d({c}, 2, 2) < randn({b}, {c}, {h}, {h}, {w}); ConvTranspose1d({c}, 2, 3) < randn({b}, {c}, {h}); ConvTranspose3d({c}, 2, 2) < randn({b}, {c}, 2, 2, 2)
PixelShuffle(2) < randn({b}, 4 * {c}, {h}, {w}); Upsample(2) < randn({b}, {c}, {h}, {w}); Dropout2d(0.5) < randn({b}, {c}, 2, 2); Flatten() < randn({b}, {c}, 2, 2)
MultiheadAttention(4, 2) < randn({b}, {h}, 4); TransformerEncoderLayer(4, 2, inner = 8) < randn({b}, {h}, 4); LSTM({c}, 3) < randn({b}, {h}, {c})
GRU({c}, 3, directions = 2) < randn({b}, {h}, {c}); LSTM({c}, 3, directions = 2) < randn({b}, {h}, {c}), lengths = randint(1, {h}, [{b}]); RNN({c}, 3) < randn({b}, {h}, {c}); PReLU({c}) < randn({b}, {c}); Embedding({c}, 3) < randint(0, {c}, [{b}])
Bilinear({c}, {h}, 2) < randn({b}, {c}), randn({b}, {h}); LSTMCell({c}, 3) < randn({b}, {c}), zeros({b}, 3), zeros({b}, 3); GRUCell({c}, 3) < randn({b}, {c}), zeros({b}, 3)
RNNCell({c}, 3) < randn({b}, {c}), zeros({b}, 3); lenet({c}) < randn({b}, 1, 28, 28); mlp({c}, 2, hidden = 4) < randn({b}, {c}); lstm_forecaster({c}, 2, hidden = 4) < randn({b}, {h}, {c})
MaxPool3d(2, dilation = (1, 3, 2)) < randn(1, {c}, {h}, {h}, {w}); AvgPool3d(2) < randn(1, {c}, {h}, {h}, {w}); AdaptiveAvgPool3d(2) < randn(1, {c}, {h}, {h}, {w})
AdaptiveMaxPool1d(2) < randn({b}, {c}, {h}); AdaptiveMaxPool2d(2) < randn({b}, {c}, {h}, {w}); BatchNorm3d({c}) < randn({b}, {c}, 2, 2, 2)
LocalResponseNorm(3) < randn({b}, {c}, {h}, {w}); Dropout1d(0.5) < randn({b}, {c}, {h}); Dropout3d(0.5) < randn({b}, {c}, 2, 2, 2); AlphaDropout(0.2) < randn({b}); StochasticDepth(0.2) < randn({b}, {c}, {h})
ZeroPad1d(1) < randn({b}, {c}, {h}); ZeroPad2d((1, 0, 2, 1)) < randn({b}, {c}, {h}, {w}); ZeroPad3d(1) < randn(1, {c}, 2, 2, 2); ConstantPad1d(1, 0.5) < randn({b}, {c}, {h})
ConstantPad2d(1, 0.5) < randn({b}, {c}, {h}, {w}); ReflectionPad1d(1) < randn({b}, {c}, {h}); ReflectionPad2d(1) < randn({b}, {c}, {h}, {w})
ReplicationPad1d(1) < randn({b}, {c}, {h}); ReplicationPad2d(1) < randn({b}, {c}, {h}, {w}); CircularPad1d(1) < randn({b}, {c}, {h}); CircularPad2d(1) < randn({b}, {c}, {h}, {w})
PixelUnshuffle(2) < randn({b}, {c}, 2 * {h}, 2 * {w}); ChannelShuffle(2) < randn({b}, {n}, {h}, {w}); Unfold(2) < randn({b}, {c}, {h}, {w})
Fold(output = (3, 3), kernel = 2) < randn({b}, 4 * {c}, 4); EmbeddingBag({c}, 3) < randint(0, {c}, [{b}, {h}])
TransformerDecoderLayer(4, 2, inner = 8) < randn({b}, {h}, 4), randn({b}, {w}, 4); TransformerEncoder(4, 2, layers = 2, inner = 8) < randn({b}, {h}, 4)
TransformerDecoder(4, 2, layers = 2, inner = 8, norm = true) < randn({b}, {h}, 4), randn({b}, {w}, 4); Transformer(4, 2, 1, 1, inner = 8) < randn({b}, {h}, 4), randn({b}, {w}, 4)
CrossAttention(4, 2, {c}) < randn({b}, {h}, 4), randn({b}, {w}, {c}), randn({b}, {w}, {c}); PlainBatchNorm({c}) < randn({b}, {c}, 2, 2); AdaptiveMaxPool3d(2) < randn(1, {c}, {h}, {h}, {w})
Upsample1d(2, mode = linear) < randn({b}, {c}, {h}); Upsample3d(2) < randn(1, {c}, 2, {h}, {w}); ConstantPad3d(1, 0.5) < randn(1, {c}, 2, 2, 2); ReflectionPad3d(1) < randn(1, {c}, {h}, {h}, {w})
ReplicationPad3d(1) < randn(1, {c}, 2, 2, 2); CircularPad3d((1, 0, 1, 1, 0, 1)) < randn(1, {c}, {h}, {h}, {w})
LayerNorm({c}) < randn({b}, {c}); RMSNorm({c}) < randn({b}, {c}); Identity() < randn({b}); Dropout(0.2) < randn({b}); Linear({c}, 2) < randn({b}, {c})
ConvTranspose2d({c}, 2, (3, 2)) < randn({b}, {c}, {h}, {w}); MaxPool2d(2) < randn({b}, {c}, {h}, {w}); AdaptiveAvgPool2d((1, 2)) < randn({b}, {c}, {h}, {w})
unet(2, 32, 32, channels = 1, size = 4) < randn(1, 1, 32, 32); mobilenet_v2({c}) < randn(1, 3, 32, 32); resnet18({c}) < randn(1, 3, 32, 32)
resnet34({c}) < randn(1, 3, 32, 32); resnet50({c}) < randn(1, 3, 32, 32); gpt2(vocab = {h}, positions = 8, size = 4, layers = 1, heads = 2) < randint(0, {h}, [{b}, 4])
bert(vocab = {h}, positions = 8, size = 4, layers = 1, heads = 2, inner = 8) < randint(0, {h}, [{b}, 4]), zeros({b}, 4) < 1.0, zeros({b}, 4).to(i64); vit_b16({c}) < randn(1, 3, 224, 224)
vgg11({c}, hidden = 4) < randn(1, 3, 32, 32); vgg13({c}, hidden = 4) < randn(1, 3, 32, 32); vgg16({c}, hidden = 4) < randn(1, 3, 32, 32)
vgg19({c}, hidden = 4) < randn(1, 3, 32, 32); vgg11_bn({c}, hidden = 4) < randn(1, 3, 32, 32); vgg13_bn({c}, hidden = 4) < randn(1, 3, 32, 32)
vgg16_bn({c}, hidden = 4) < randn(1, 3, 32, 32); vgg19_bn({c}, hidden = 4) < randn(1, 3, 32, 32); efficientnet({c}) < randn(1, 3, 32, 32)
convnext_tiny({c}) < randn(1, 3, 32, 32); convnext_small({c}) < randn(1, 3, 32, 32); convnext_base({c}) < randn(1, 3, 32, 32)
swin_t({c}) < randn(1, 3, 32, 32); swin_s({c}) < randn(1, 3, 32, 32); swin_b({c}) < randn(1, 3, 32, 32)
distilbert(vocab = {h}, positions = 8, size = 4, layers = 1, heads = 2, inner = 8) < randint(0, {h}, [{b}, 4]), zeros({b}, 4) < 1.0
llama(vocab = {h}, size = 8, layers = 1, heads = 2, groups = 1, inner = 8) < randint(0, {h}, [{b}, 4])
t5(vocab = {h}, size = 4, layers = 1, heads = 2, head = 3, inner = 8) < randint(0, {h}, [{b}, 4]), zeros({b}, 4) < 1.0, randint(0, {h}, [{b}, 3])
"""

# Of two classes, of several, of labels, of numbers, of texts.
KINDS = {"binary": "randn({h}), randint(0, 2, [{h}])", "classes": "randn({h}, {c}), randint(0, {c}, [{h}])",
         "labels": "randn({h}, {c}), randint(0, 2, [{h}, {c}])", "numbers": "rand({h}), rand({h})", "one": "full(0.5)", "rows": "rand({b}, {c}), rand({b}, {c})",
         "probs": "softmax(randn({b}, {c}), 1), softmax(randn({b}, {c}), 1)", "images": "rand({b}, 1, 16, 16), rand({b}, 1, 16, 16)",
         "texts": "randint(1, 4, [{b}, 4]), randint(1, 4, [{b}, 3])", "references": "randint(1, 4, [{b}, 4]), randint(1, 4, [{b}, 2, 3])", "sequences": "randn({b}, {c}, {h}), randint(0, {c}, [{b}, {h}])", "image": "rand({b}, 1, {h}, {w})", "tokens": "randn({b}, {h}, {c}), randint(0, {c}, [{b}, {h}])",
         "searches": "randn({b}, {h}), randint(0, 2, [{b}, {h}])", "ranked": "randn({h}), randint(0, 2, [{h}]), randint(0, 2, [{h}])"}
METRICS = """
binary: BinaryAccuracy() BinaryHammingDistance() BinaryPrecision() BinaryRecall() BinarySpecificity() BinaryF1Score() BinaryFBetaScore(2.0) BinaryCalibrationError()
binary: BinaryConfusionMatrix() BinaryMatthewsCorrCoef() BinaryJaccardIndex() BinaryCohenKappa() BinaryAUROC() BinaryAveragePrecision() BinaryAUROC(thresholds={h})
binary: BinaryStatScores() BinaryAUROC(max_fpr=0.5) BinaryConfusionMatrix(normalize=all) BinaryROC() BinaryPrecisionRecallCurve({h})
classes: CalibrationError({c}) ConfusionMatrix({c}) CohenKappa({c}) MatthewsCorrCoef({c}) JaccardIndex({c}) ExactMatch({c}) AUROC({c}) AveragePrecision({c}) Accuracy({c})
classes: HammingDistance({c}) Precision({c}) Recall({c},average=micro) Specificity({c}) F1Score({c}) FBetaScore({c},beta=0.5) StatScores({c})
classes: ROC({c}) PrecisionRecallCurve({c},thresholds={h}) Accuracy({c},average=none) Precision({c},average=none,top_k=2) AUROC({c},average=none) JaccardIndex({c},none)
labels: MultilabelExactMatch({c}) MultilabelAccuracy({c}) MultilabelHammingDistance({c}) MultilabelPrecision({c}) MultilabelRecall({c}) MultilabelSpecificity({c})
labels: MultilabelF1Score({c}) MultilabelFBetaScore({c},beta=2.0) MultilabelAUROC({c}) MultilabelAveragePrecision({c}) MultilabelAveragePrecision({c},thresholds={h})
labels: MultilabelROC({c},{h}) MultilabelPrecisionRecallCurve({c}) MultilabelRecall({c},average=none) MultilabelAveragePrecision({c},none,{h})
labels: MultilabelStatScores({c}) MultilabelConfusionMatrix({c}) MultilabelMatthewsCorrCoef({c}) MultilabelJaccardIndex({c},average=none) MultilabelAUROC({c},micro)
numbers: SpearmanCorrCoef() MeanAbsoluteError() MeanSquaredError() RootMeanSquaredError() MeanSquaredLogError() MeanAbsolutePercentageError() R2Score()
numbers: WeightedMeanAbsolutePercentageError() LogCoshError() MinkowskiDistance(2.0) RelativeSquaredError() TweedieDevianceScore() CriticalSuccessIndex(0.5)
numbers: KendallRankCorrCoef() SymmetricMeanAbsolutePercentageError() ExplainedVariance() PearsonCorrCoef()
one: MeanMetric() SumMetric() MinMetric() MaxMetric() RunningMean(3)
rows: MeanSquaredError(outputs={c},average=none) MeanAbsoluteError(outputs={c},average=none) PearsonCorrCoef({c},none)
rows: CosineSimilarity() SignalNoiseRatio() ScaleInvariantSignalDistortionRatio() FrechetDistance({c})
probs: KLDivergence() JensenShannonDivergence()
images: PeakSignalNoiseRatio(1.0) StructuralSimilarityIndexMeasure(1.0) MultiScaleStructuralSimilarityIndexMeasure(1.0,0.1,1)
texts: WordErrorRate() CharErrorRate() EditDistance() MatchErrorRate() WordInfoPreserved() WordInfoLost() BLEUScore(n=2) ROUGEScore()
references: BLEUScore(n=2) ROUGEScore(accumulate=avg)
tokens: Perplexity()
sequences: MeanIoU({c}) DiceScore({c}) MeanIoU({c},average=none) DiceScore({c},average=none)
image: TotalVariation()
searches: RetrievalRecall(top_k=2) RetrievalMAP(empty_target_action=skip)
ranked: RetrievalPrecision(top_k=2) RetrievalRecall() RetrievalHitRate() RetrievalFallOut() RetrievalRPrecision() RetrievalMRR() RetrievalMAP() RetrievalNormalizedDCG()
"""

STAGES = ("shuffle({b})", "shuffle(1, buffer = 4)", "map(same)", "map(same, on_bad = skip(3))", "take({n})", "skip(1)", "shard(0, 2)", "repeat(2)", "cache()",
          "cache(limit = 2 MiB)", "cache(disk)", "prefetch({b})", 'select("u", "n")', "concat(base)", "bucket(by = s => s.n, width = 2)", "sample(s => 1.0 + s.n, seed = {n})", 'sample("n", seed = 1, count = 2, replacement = false)',
          'balance(by = "n", seed = 2)', "balance(by = s => s.n % 2, seed = 1, count = {b})")
SOURCES = ('mnist()', 'fashion_mnist("none")', 'cifar10()', 'idx("none.idx") as {{image: u8[2, 2]}}', 'npz("none.npz") as {{x: float[{b}]}}', 'npy("none.npy") as {{x: float[{b}]}}',
           'csv("none.csv", sep = ";", missing = ["NA", "-"]) as {{x: float, y: option[str]}}', 'jsonl("none/*.jsonl") as {{x: float}}', 'audio("none/*.wav")', 'cifar100()', 'sqlite("none.db", "select x from t") as {{x: float}}', 'tar_shards("none/*.tar") as {{png: u8[3, ?, ?], cls: int}}', 'text_lines("none/*.txt")',
           'parquet("none/*.parquet") as {{x: float, ids: i64[?]}}', 'arrow("none.feather") as {{x: option[str]}}', 'hf_dataset("none", "train") as {{text: str, label: int}}',
           'safetensors("none.safetensors") as {{x: f32[{b}]}}', 'tfrecord("none/*.tfrecord") as {{x: float, ids: i64[?]}}', 'files("none/*.bin")',
           'text_chars("none.txt")', 'token_shards("none/*.bin", window = {h})', 'image_folder("none")')
RULES = ("SGD({}, momentum = 0.5)", "Adam({})", "AdamW({})", "NAdam({})", "RAdam({})", "Adamax({})", "RMSprop({})", "Adadelta({})", "Adagrad({})", "Rprop({})",
         "Adafactor({})", "Muon({})", "Lion({})", "Lamb({})", "Lars({})")
SEARCHES = ("max_iter = 2, line_search = strong_wolfe", "history = 3, max_eval = 4", "tolerance_grad = 0.0, tolerance_change = 0.0, lr = 0.5")
SCHEDULES = ("cyclic(0.5, 1.0, up = 2 steps)", "noam(16, warmup = 2 steps)", "inverse_sqrt(warmup = 2 steps)", "wsd(warmup = 1 steps, decay = 1 steps)", "multistep([1 steps])",
             "exponential(0.9, every = 2 steps)", "polynomial(2.0)", "step(2 steps)", "one_cycle()", "linear(to = 0.1)", "cosine(final = 0.1)", "linear_warmup(2 steps)")


def entries(text):
    return [one.strip() for line in text.strip().splitlines() for one in line.split(";")]


def metrics():
    for line in METRICS.strip().splitlines():
        kind, _, names = line.partition(": ")
        yield from ((name, KINDS[kind]) for name in names.split())


def dealt(rng, items, turn, hands):
    """A share of the items in some order: so many programs one after another have all of them."""
    share = list(items)[turn % hands::hands]
    return rng.sample(share, len(share))


class Calls:
    """`turn` counts the programs of this kind."""

    def __init__(self, rng, turn):
        self.rng, self.turn = rng, turn

    def dealt(self, items, hands=10):
        return dealt(self.rng, items, self.turn, hands)

    def sized(self, text):
        small, large = self.rng.choice((2, 3, 4)), self.rng.choice((4, 5, 6))
        sizes = {"b": self.rng.choice((2, 3, 4)), "c": small, "h": large, "w": self.rng.choice((4, 5, 6)), "n": 2 * self.rng.choice((2, 3, 4))}
        return text.format(**sizes)

    def test(self):
        """A test of some of them."""
        lines = []
        for one in self.dealt(entries(VALUES)):
            lines.append(f"print {self.sized(one)}")
        for i, one in enumerate(self.dealt(entries(LAYERS))):
            layer, given = self.sized(one).split(" < ", 1)
            lines += [f"l{i} = {layer}", f"y{i} = l{i}({given})"]
        for i, (name, given) in enumerate(self.dealt(metrics())):
            made, _, values = self.sized(f"{name} < {given}").partition(" < ")
            lines += [f"m{i} = {made}", f"m{i}.update({values})", f"print m{i}.compute()"]
        return ["", 'test "calls" {', *(f"  {line}" for line in lines), "}"]

    def data(self):
        """Streams through some stages, and sources whose files are not there."""
        rng = self.rng
        stages = " |> ".join(self.sized(one) for one in self.dealt(STAGES, 4))
        sources = [f"  let s{i} = {self.sized(one)}" for i, one in enumerate(self.dealt(SOURCES, 5))]
        other = rng.choice(("base |> zip(other)", "mix([base, base |> take(4)], weights = [0.5, 0.5])", "base"))
        return ["", "data Streams() {", "  batch[B] { u: float[B, 2], n: i64[B], more: float[B] }", *sources,
                "  fn row(s: {i: int}) -> {u: float[2], n: int} = (u = ones(2) * s.i, n = s.i)", "  fn same(s: {u: float[2], n: int}) -> {u: float[2], n: int} = s",
                "  fn even(s: {u: float[2], n: int}) -> bool = s.n % 2 == 0", "  fn added(s: {i: int}) -> {more: float} = (more = 1.0 * s.i)",
                "  let base = range(16) |> filter(low) |> map(row)", "  fn low(s: {i: int}) -> bool = s.i < 14", "  let other = range(16) |> map(added)", "  let seen = facts(base)",
                '  let cut = base |> folds(4, 1, seed = 1, by = "n")',
                '  let words = vocab(range(4) |> map(s => (t = "a b")), of = "t", max = 10)',
                '  let tok = tokenizer("tokens.json")', '  fn cut_up(s: {i: int}) -> {i: int} = (i = s.i + tok.encode("a {s.i}").shape[0])',
                "  let tokens = range(tok.size) |> map(cut_up)",
                '  let texts = range({b}) |> map(s => (t = "a b {{s.i}}", n = s.i)) |> tokenize(tok, of = "t")'.format(b=rng.choice((2, 3, 4))),
                f'  let windows = texts |> select("ids") |> pack({rng.choice((2, 4, 8))}, end = tok.id("a"))',
                f"  train = base |> {stages} |> collate(2, drop_last = true)", f"  val = {other} |> collate(4)",
                "  test = base |> window(2) |> select(\"n\") |> take(2) |> map(s => (n = s.n[0])) |> collate(2)", "}"]

    def model(self):
        """Optimizers and schedules."""
        rules = self.dealt(RULES, 4)
        schedules = self.dealt(SCHEDULES, 4)
        return ["", "model Many() {", *(f"  m{i} = Linear(2, 2, bias = false)" for i in range(len(rules))),
                *(f"  optimizer o{i} = {rule.format(f'm{i}.weights')} {{ schedule = {schedules[i % len(schedules)]} }}" for i, rule in enumerate(rules)),
                "  step train[B](x: float[B, 2]) {", *(f"    minimize mean(m{i}(x) ** 2) with o{i}" for i in range(len(rules))), "  }", "}",
                "", "model Searched() {", "  m = Linear(2, 2)", f"  optimizer opt = LBFGS(m.weights, {self.rng.choice(SEARCHES)})",
                "  step train[B](x: float[B, 2]) {", "    loss = mean(m(x) ** 2)", "    minimize loss", "    log loss", "  }", "}"]
