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
syntax keyword ltrType bf16 bool bytes draw duration f16 f32 f64 facts float i16 i32 i64 i8 initializer int
syntax keyword ltrType list logger one_of option path period receiver schedule secret series str stream
syntax keyword ltrType tokenizer trainer_value u8 vocabulary weight_path weights
syntax keyword ltrFunction abs adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
syntax keyword ltrFunction adaptive_max_pool2d affine_grid alibi all any arange argmax argmin arrow asha
syntax keyword ltrFunction attention audio auto_contrast avg_pool1d avg_pool2d avg_pool3d balance batch_norm
syntax keyword ltrFunction bce bce_with_logits bernoulli bilinear bincount bmm bucket bucketize by_epoch cache
syntax keyword ltrFunction cdist ceil celu center_crop chain chars cholesky chunk cifar10 cifar100 clamp
syntax keyword ltrFunction class_counts class_of clone close collate color_jitter concat confusion_counts
syntax keyword ltrFunction constant contains contrastive conv1d conv2d conv3d conv_transpose1d conv_transpose2d
syntax keyword ltrFunction conv_transpose3d corrcoef cos cosine cosine_embedding cosine_restarts
syntax keyword ltrFunction cosine_similarity count counted cov cross cross_entropy csv ctc cumprod cumsum
syntax keyword ltrFunction cutmix cyclic det diagonal dice discord dropout dropout2d edit_distances eigh
syntax keyword ltrFunction eigvalsh einsum elu embedding end_epoch ends_with equal equalize erf exp expand
syntax keyword ltrFunction exponential eye fashion_mnist fft fft2 filter find flatten flip floor focal folds
syntax keyword ltrFunction fraction full gather gaussian_blur gaussian_nll gelu glu grad gradcheck grayscale
syntax keyword ltrFunction grid_sample group_norm gru hann_window hardshrink hardsigmoid hardswish hardtanh
syntax keyword ltrFunction hf_dataset hinge huber idx ifft ifft2 image_folder image_grid index_select
syntax keyword ltrFunction instance_norm int_uniform interpolate inv inverse_sqrt irfft isfinite isnan jaccard
syntax keyword ltrFunction join jsonl kaiming_normal kaiming_uniform kl_div kron l1 layer_norm leaky_relu
syntax keyword ltrFunction length length_mask lerp linear linear_warmup linspace log10 log1p log2 log_softmax
syntax keyword ltrFunction log_uniform logaddexp logcumsumexp logsigmoid logsumexp lower lstm lstsq map
syntax keyword ltrFunction margin_ranking masked_fill matmul matrix_exp matrix_norm max_pool1d max_pool2d
syntax keyword ltrFunction max_pool3d maximum median meshgrid minimum mish mix mixup mnist mse multi_margin
syntax keyword ltrFunction multilabel_margin multilabel_soft_margin multistep nanmean nll noam norm normal
syntax keyword ltrFunction normalize npy npz numel one_cycle one_hot ones or_else orthogonal outer overfit pack
syntax keyword ltrFunction pad pad_image pairwise_distance parquet permute pinv pixel_shuffle plateau
syntax keyword ltrFunction poisson_nll polynomial posterize pow prefetch prelu prod qr quantile quantiles ramp
syntax keyword ltrFunction rand rand_augment randint randn random_affine random_crop random_crop_pair
syntax keyword ltrFunction random_erasing random_flip random_flip_pair random_perspective random_resized_crop
syntax keyword ltrFunction random_resized_crop_pair random_rotation random_rotation_pair random_vflip
syntax keyword ltrFunction random_vflip_pair randperm range ranks relu relu6 repeat replace reshape resize
syntax keyword ltrFunction resize_pair rfft rms_norm rnn roll rope round rsqrt sample save save_png scatter
syntax keyword ltrFunction scatter_add score_curve searchsorted select selu sequential sharpness shuffle
syntax keyword ltrFunction sigmoid sigmoid_focal sign silu sin slack slogdet smooth_l1 soft_cross_entropy
syntax keyword ltrFunction soft_margin softmax softplus softshrink softsign solarize solve solve_triangular
syntax keyword ltrFunction sort split sqlite sqrt square squeeze stack starts_with std stft stop stop_grad
syntax keyword ltrFunction strip svd svdvals swiglu synthetic take tan tanh tanhshrink tar_shards teams
syntax keyword ltrFunction text_chars text_lines threshold to_float token_shards tokenize topk trace tracked
syntax keyword ltrFunction transpose tril triplet_margin triu trivial_augment trunc trunc_normal tversky unfold
syntax keyword ltrFunction uniform unique unsqueeze upper var vocab webhook window wsd xavier_normal
syntax keyword ltrFunction xavier_uniform zeros zip
syntax keyword ltrBlock AUROC Accuracy Adadelta Adafactor Adagrad Adam AdamW Adamax AdaptiveAvgPool1d
syntax keyword ltrBlock AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AlphaDropout
syntax keyword ltrBlock AveragePrecision AvgPool1d AvgPool2d AvgPool3d BLEUScore BatchNorm1d BatchNorm2d
syntax keyword ltrBlock BatchNorm3d Bilinear BinaryAUROC BinaryAccuracy BinaryAveragePrecision
syntax keyword ltrBlock BinaryCalibrationError BinaryCohenKappa BinaryConfusionMatrix BinaryF1Score
syntax keyword ltrBlock BinaryFBetaScore BinaryHammingDistance BinaryJaccardIndex BinaryMatthewsCorrCoef
syntax keyword ltrBlock BinaryPrecision BinaryRecall BinarySpecificity CalibrationError ChannelShuffle
syntax keyword ltrBlock CharErrorRate Checkpoint CircularPad1d CircularPad2d CohenKappa ConfusionMatrix
syntax keyword ltrBlock ConstantPad1d ConstantPad2d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
syntax keyword ltrBlock ConvTranspose3d CosineSimilarity CriticalSuccessIndex Csv DeviceStats DiceScore Dropout
syntax keyword ltrBlock Dropout1d Dropout2d Dropout3d EarlyStop EditDistance Ema Embedding EmbeddingBag
syntax keyword ltrBlock ExactMatch ExplainedVariance F1Score FBetaScore Flatten Fold FreezeUntil GRU GRUCell
syntax keyword ltrBlock GradNorm GroupNorm HammingDistance Histograms Identity ImageGrid InstanceNorm
syntax keyword ltrBlock JaccardIndex JensenShannonDivergence KLDivergence KendallRankCorrCoef LBFGS LSTM
syntax keyword ltrBlock LSTMCell Lamb Lars LayerNorm Linear Lion LocalResponseNorm LogCoshError LrMonitor
syntax keyword ltrBlock MatchErrorRate MatthewsCorrCoef MaxMetric MaxPool1d MaxPool2d MaxPool3d
syntax keyword ltrBlock MeanAbsoluteError MeanAbsolutePercentageError MeanIoU MeanMetric MeanSquaredError
syntax keyword ltrBlock MeanSquaredLogError MinMetric MinkowskiDistance Mlflow MultiheadAttention
syntax keyword ltrBlock MultilabelAUROC MultilabelAccuracy MultilabelAveragePrecision MultilabelExactMatch
syntax keyword ltrBlock MultilabelF1Score MultilabelFBetaScore MultilabelHammingDistance MultilabelPrecision
syntax keyword ltrBlock MultilabelRecall MultilabelSpecificity Muon NAdam Notify PReLU PeakSignalNoiseRatio
syntax keyword ltrBlock PearsonCorrCoef Perplexity PixelShuffle PixelUnshuffle Precision ProgressBar R2Score
syntax keyword ltrBlock RAdam RMSNorm RMSprop RNN RNNCell ROUGEScore Recall ReflectionPad1d ReflectionPad2d
syntax keyword ltrBlock RelativeSquaredError ReplicationPad1d ReplicationPad2d RetrievalFallOut
syntax keyword ltrBlock RetrievalHitRate RetrievalMAP RetrievalMRR RetrievalNormalizedDCG RetrievalPrecision
syntax keyword ltrBlock RetrievalRPrecision RetrievalRecall RootMeanSquaredError Rprop RunningMean SGD
syntax keyword ltrBlock SamplePredictions ScaleInvariantSignalDistortionRatio SignalNoiseRatio SpearmanCorrCoef
syntax keyword ltrBlock Specificity SpikeGuard StatScores StochasticDepth StopOnSignal
syntax keyword ltrBlock StructuralSimilarityIndexMeasure SumMetric Summary Swa
syntax keyword ltrBlock SymmetricMeanAbsolutePercentageError SyncBatchNorm TensorBoard Throughput Timer
syntax keyword ltrBlock TotalVariation TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer
syntax keyword ltrBlock TweedieDevianceScore Unfold Unfreeze Upsample WeightedMeanAbsolutePercentageError
syntax keyword ltrBlock WordErrorRate WordInfoLost WordInfoPreserved ZeroPad1d ZeroPad2d ZeroPad3d bert
syntax keyword ltrBlock convnext_base convnext_small convnext_tiny distilbert efficientnet forecaster gpt2
syntax keyword ltrBlock image_classifier language_model lenet llama lstm_forecaster mlp mobilenet_v2 resnet18
syntax keyword ltrBlock resnet34 resnet50 segmenter swin_b swin_s swin_t t5 tabular_classifier
syntax keyword ltrBlock tabular_regressor text_classifier unet vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn
syntax keyword ltrBlock vgg19 vgg19_bn vit_b16
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
