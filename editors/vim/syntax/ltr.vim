if exists('b:current_syntax')
  finish
endif

syntax case match

" The words of the language and of its library; `editors/generate.py` writes these lines.
" generated: begin
syntax keyword ltrKeyword ltr import hparam type const fn extern data block model callback topology experiment
syntax keyword ltrKeyword test backward state reduce merge let batch train val predict from rename freeze
syntax keyword ltrKeyword weight buffer optimizer group init manual on for amends over at recompute set trainer
syntax keyword ltrKeyword sweep tags serve callbacks loggers fails return yield assert print minimize with
syntax keyword ltrKeyword image histogram text epoch both bar while every no_grad scan dim new
syntax keyword ltrOperatorWord and or not in as if then else
syntax keyword ltrConstant true false none
syntax keyword ltrType bf16 bool bytes draw duration f16 f32 f64 facts float float_or_period i16 i32 i64 i8
syntax keyword ltrType initializer int int_or_all list logger one_of option path period receiver schedule
syntax keyword ltrType secret series str stream tokenizer trainer_value u8 vocabulary weight_path weights
syntax keyword ltrFunction abs acos adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
syntax keyword ltrFunction adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d affine_grid alibi all
syntax keyword ltrFunction any arange argmax argmin arrow asha asin atan atan2 attention audio auto_contrast
syntax keyword ltrFunction avg_pool1d avg_pool2d avg_pool3d balance batch_norm bce bce_with_logits bernoulli
syntax keyword ltrFunction bilinear bincount bmm bucket bucketize by_epoch cache cdist ceil celu center_crop
syntax keyword ltrFunction chain chars cholesky chunk cifar10 cifar100 clamp class_counts class_of clone close
syntax keyword ltrFunction collate color_jitter concat confusion_counts constant contains contrastive conv1d
syntax keyword ltrFunction conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d corrcoef cos cosh
syntax keyword ltrFunction cosine cosine_embedding cosine_restarts cosine_similarity count count_windows
syntax keyword ltrFunction counted cov cross cross_entropy csv ctc cumprod cumsum cutmix cyclic det diag
syntax keyword ltrFunction diag_embed diagonal dice diff discord dropout dropout2d edit_distances eigh eigvalsh
syntax keyword ltrFunction einsum elu embedding end_epoch ends_with equal equalize erf exp expand expm1
syntax keyword ltrFunction exponential eye fashion_mnist fft fft2 files filter find flatten flip floor focal
syntax keyword ltrFunction folds fraction frequency_mask full gather gaussian_blur gaussian_nll gelu glu grad
syntax keyword ltrFunction gradcheck grayscale grid_sample group_norm gru gumbel_softmax hamming_window
syntax keyword ltrFunction hann_window hardshrink hardsigmoid hardswish hardtanh hf_dataset hinge histc huber
syntax keyword ltrFunction idx ifft ifft2 image_folder image_grid index_select instance_norm int_uniform
syntax keyword ltrFunction interpolate interpolate1d interpolate3d inv inverse_sqrt irfft isfinite isinf isnan
syntax keyword ltrFunction istft jaccard join jsonl kaiming_normal kaiming_uniform kl_div kron l1 layer_norm
syntax keyword ltrFunction leaky_relu length length_mask lerp linear linear_warmup linspace log10 log1p log2
syntax keyword ltrFunction log_softmax log_uniform logaddexp logcumsumexp logsigmoid logsumexp lower lstm lstsq
syntax keyword ltrFunction map margin_ranking masked_fill matmul matrix_exp matrix_norm max_pool1d max_pool2d
syntax keyword ltrFunction max_pool3d maximum median mel_filters mel_spectrogram meshgrid mfcc minimum mish mix
syntax keyword ltrFunction mixup mnist mse multi_margin multilabel_margin multilabel_soft_margin multistep
syntax keyword ltrFunction nan_to_num nanmean nansum nll noam norm normal normalize npy npz numel one_cycle
syntax keyword ltrFunction one_hot ones or_else orthogonal outer overfit pack pad pad_image pairwise_distance
syntax keyword ltrFunction parquet permute pinv pixel_shuffle plateau poisson_nll polynomial posterize pow
syntax keyword ltrFunction prefetch prelu prod qr quantile quantiles ramp rand rand_augment randint randn
syntax keyword ltrFunction random_affine random_crop random_crop_pair random_erasing random_flip
syntax keyword ltrFunction random_flip_pair random_perspective random_resized_crop random_resized_crop_pair
syntax keyword ltrFunction random_rotation random_rotation_pair random_vflip random_vflip_pair randperm range
syntax keyword ltrFunction ranks relu relu6 repeat replace resample reshape resize resize_pair rfft rms_norm
syntax keyword ltrFunction rnn roll rope round rsqrt safetensors sample save save_png scatter scatter_add
syntax keyword ltrFunction score_curve searchsorted select selu sequential sharpness shuffle sigmoid
syntax keyword ltrFunction sigmoid_focal sign silu sin sinh slack slogdet smooth_l1 soft_cross_entropy
syntax keyword ltrFunction soft_margin softmax softplus softshrink softsign solarize solve solve_triangular
syntax keyword ltrFunction sort split sqlite sqrt square squeeze stack starts_with std stft stop stop_grad
syntax keyword ltrFunction strip svd svdvals swiglu synthetic take tan tanh tanhshrink tar_shards teams
syntax keyword ltrFunction text_chars text_lines tfrecord threshold time_mask to_float token_shards tokenize
syntax keyword ltrFunction topk trace tracked transpose tril triplet_margin triu trivial_augment trunc
syntax keyword ltrFunction trunc_normal tversky unfold uniform unique unsqueeze upper var vocab webhook window
syntax keyword ltrFunction wsd xavier_normal xavier_uniform zeros zip
syntax keyword ltrBlock AUROC Accuracy Adadelta Adafactor Adagrad Adam AdamW Adamax AdaptiveAvgPool1d
syntax keyword ltrBlock AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
syntax keyword ltrBlock AdaptiveMaxPool3d AlphaDropout AveragePrecision AvgPool1d AvgPool2d AvgPool3d BLEUScore
syntax keyword ltrBlock BatchNorm1d BatchNorm2d BatchNorm3d Bilinear BinaryAUROC BinaryAccuracy
syntax keyword ltrBlock BinaryAveragePrecision BinaryCalibrationError BinaryCohenKappa BinaryConfusionMatrix
syntax keyword ltrBlock BinaryF1Score BinaryFBetaScore BinaryHammingDistance BinaryJaccardIndex
syntax keyword ltrBlock BinaryMatthewsCorrCoef BinaryPrecision BinaryPrecisionRecallCurve BinaryROC
syntax keyword ltrBlock BinaryRecall BinarySpecificity BinaryStatScores CalibrationError ChannelShuffle
syntax keyword ltrBlock CharErrorRate Checkpoint CircularPad1d CircularPad2d CircularPad3d CohenKappa Comet
syntax keyword ltrBlock ConfusionMatrix ConstantPad1d ConstantPad2d ConstantPad3d Conv1d Conv2d Conv3d
syntax keyword ltrBlock ConvTranspose1d ConvTranspose2d ConvTranspose3d CosineSimilarity CriticalSuccessIndex
syntax keyword ltrBlock CrossAttention Csv DeviceStats DiceScore Dropout Dropout1d Dropout2d Dropout3d
syntax keyword ltrBlock EarlyStop EditDistance Ema Embedding EmbeddingBag ExactMatch ExplainedVariance F1Score
syntax keyword ltrBlock FBetaScore Flatten Fold FrechetDistance FreezeUntil GRU GRUCell GradNorm GroupNorm
syntax keyword ltrBlock HammingDistance Histograms Identity ImageGrid InstanceNorm JaccardIndex
syntax keyword ltrBlock JensenShannonDivergence Jsonl KLDivergence KendallRankCorrCoef LBFGS LSTM LSTMCell Lamb
syntax keyword ltrBlock Lars LayerNorm Linear Lion LocalResponseNorm LogCoshError LrMonitor MatchErrorRate
syntax keyword ltrBlock MatthewsCorrCoef MaxMetric MaxPool1d MaxPool2d MaxPool3d MeanAbsoluteError
syntax keyword ltrBlock MeanAbsolutePercentageError MeanIoU MeanMetric MeanSquaredError MeanSquaredLogError
syntax keyword ltrBlock MinMetric MinkowskiDistance Mlflow MultiScaleStructuralSimilarityIndexMeasure
syntax keyword ltrBlock MultiheadAttention MultilabelAUROC MultilabelAccuracy MultilabelAveragePrecision
syntax keyword ltrBlock MultilabelConfusionMatrix MultilabelExactMatch MultilabelF1Score MultilabelFBetaScore
syntax keyword ltrBlock MultilabelHammingDistance MultilabelJaccardIndex MultilabelMatthewsCorrCoef
syntax keyword ltrBlock MultilabelPrecision MultilabelPrecisionRecallCurve MultilabelROC MultilabelRecall
syntax keyword ltrBlock MultilabelSpecificity MultilabelStatScores Muon NAdam Notify PReLU PeakSignalNoiseRatio
syntax keyword ltrBlock PearsonCorrCoef Perplexity PixelShuffle PixelUnshuffle PlainBatchNorm Precision
syntax keyword ltrBlock PrecisionRecallCurve ProgressBar R2Score RAdam RMSNorm RMSprop RNN RNNCell ROC
syntax keyword ltrBlock ROUGEScore Recall ReflectionPad1d ReflectionPad2d ReflectionPad3d RelativeSquaredError
syntax keyword ltrBlock ReplicationPad1d ReplicationPad2d ReplicationPad3d RetrievalFallOut RetrievalHitRate
syntax keyword ltrBlock RetrievalMAP RetrievalMRR RetrievalNormalizedDCG RetrievalPrecision RetrievalRPrecision
syntax keyword ltrBlock RetrievalRecall RootMeanSquaredError Rprop RunningMean SGD SamplePredictions
syntax keyword ltrBlock ScaleInvariantSignalDistortionRatio SignalNoiseRatio SpearmanCorrCoef Specificity
syntax keyword ltrBlock SpikeGuard StatScores StochasticDepth StopOnSignal StructuralSimilarityIndexMeasure
syntax keyword ltrBlock SumMetric Summary Swa SymmetricMeanAbsolutePercentageError SyncBatchNorm TensorBoard
syntax keyword ltrBlock Throughput Timer TotalVariation Transformer TransformerDecoder TransformerDecoderLayer
syntax keyword ltrBlock TransformerEncoder TransformerEncoderLayer TweedieDevianceScore Unfold Unfreeze
syntax keyword ltrBlock Upsample Upsample1d Upsample3d Wandb WeightedMeanAbsolutePercentageError WordErrorRate
syntax keyword ltrBlock WordInfoLost WordInfoPreserved ZeroPad1d ZeroPad2d ZeroPad3d bert convnext_base
syntax keyword ltrBlock convnext_small convnext_tiny distilbert efficientnet forecaster gpt2 image_classifier
syntax keyword ltrBlock language_model lenet llama lstm_forecaster mlp mobilenet_v2 resnet18 resnet34 resnet50
syntax keyword ltrBlock segmenter swin_b swin_s swin_t t5 tabular_classifier tabular_regressor text_classifier
syntax keyword ltrBlock unet vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn vit_b16
syntax keyword ltrHook run_start run_end fit_start fit_end sanity_start sanity_end train_start train_end
syntax keyword ltrHook train_epoch_start train_epoch_end train_batch_start train_batch_end before_backward
syntax keyword ltrHook after_backward before_step after_step val_epoch_start val_epoch_end val_batch_start
syntax keyword ltrHook val_batch_end test_epoch_start test_epoch_end test_batch_start test_batch_end
syntax keyword ltrHook predict_epoch_start predict_epoch_end predict_batch_start predict_batch_end
syntax keyword ltrHook checkpoint_save checkpoint_load failure
syntax match ltrKeyword '\v<(cat|log|max|mean|metric|min|shard|skip|step|sum|where)>(\s*\()@!'
syntax match ltrFunction '\v<(cat|log|max|mean|metric|min|shard|skip|step|sum|where)>(\s*\()@='
syntax match ltrSetting '\v<(epochs|steps|max_time|min_epochs|min_steps|steps_per_epoch|val_every|sanity_val|val_at_start|limit_train|limit_val|limit_test|limit_predict|overfit|accumulate|global_batch|weigh|log_every|nan|nan_limit|check_grads|seed|deterministic|benchmark|host_ahead|anomaly|checkpoint|devices|precision|strategy|nodes|mesh|backend|sync_batchnorm|bucket|timeout|restarts|scheduler|workers|threads|prefetch)>(\s*\=[^=])@='
syntax match ltrUnit '\v(\d\s+)@<=(epoch|epochs|step|steps|ms|s|min|h|KiB|MiB|GiB)>'
" generated: end

" A word behind a dot is a field, whatever it is called.
syntax match ltrField '\.\h\w*'
syntax match ltrDeclared '\v(<(metric|data|block|model|callback|topology|experiment|hparam|const|fn|step)\s+)@<=\h\w*'
syntax match ltrNumber '\v<(0x[0-9A-Fa-f_]+|\d[0-9_]*(\.\d[0-9_]*)?([eE][+-]?\d+)?)>'
syntax match ltrOperator '|>\|=>\|->\|\.\.\.\?\|\*\*\|[-+*/%@<>=?]'
syntax match ltrEscape contained '\\\%([nt"\\{]\|u{\x\+}\)'
syntax region ltrInterpolation contained matchgroup=ltrEscape start='{' end='}' oneline contains=ltrNumber,ltrFunction,ltrField
syntax region ltrString start='"' skip='\\.' end='"' oneline contains=ltrEscape,ltrInterpolation
syntax region ltrString start='"""' end='"""' contains=ltrEscape,ltrInterpolation
syntax region ltrRaw start='\<r"' end='"' oneline
syntax match ltrComment '#.*$' contains=@Spell
syntax match ltrDoc '##.*$' contains=@Spell

highlight default link ltrKeyword Keyword
highlight default link ltrOperatorWord Operator
highlight default link ltrConstant Boolean
highlight default link ltrType Type
highlight default link ltrFunction Function
highlight default link ltrBlock Structure
highlight default link ltrHook Function
highlight default link ltrSetting Identifier
highlight default link ltrUnit Special
highlight default link ltrDeclared Identifier
highlight default link ltrNumber Number
highlight default link ltrOperator Operator
highlight default link ltrEscape SpecialChar
highlight default link ltrString String
highlight default link ltrRaw String
highlight default link ltrComment Comment
highlight default link ltrDoc SpecialComment

let b:current_syntax = 'ltr'
