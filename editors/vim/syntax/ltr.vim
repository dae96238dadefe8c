if exists('b:current_syntax')
  finish
endif

syntax case match

" The words of the language and of its library; `editors/generate.py` writes these lines.
" generated: begin
syntax keyword ltrKeyword ltr import hparam type const fn extern data block model callback topology experiment
syntax keyword ltrKeyword test backward state reduce merge let batch train val predict from rename freeze
syntax keyword ltrKeyword weight buffer optimizer group init manual on for amends over at recompute set trainer
syntax keyword ltrKeyword sweep tags callbacks loggers fails return yield assert print minimize with image
syntax keyword ltrKeyword histogram text epoch both bar while every no_grad scan dim new
syntax keyword ltrOperatorWord and or not in as if then else
syntax keyword ltrConstant true false none
syntax keyword ltrType bf16 bool bytes draw duration f16 f32 f64 facts float i16 i32 i64 i8 initializer int
syntax keyword ltrType list logger one_of option path period schedule secret series str stream trainer_value u8
syntax keyword ltrType vocabulary weights
syntax keyword ltrFunction abs adaptive_avg_pool1d adaptive_avg_pool2d alibi all any arange argmax argmin asha
syntax keyword ltrFunction attention audio auto_contrast avg_pool1d avg_pool2d balance batch_norm bce
syntax keyword ltrFunction bce_with_logits bernoulli bilinear bmm bucket by_epoch cache ceil center_crop chain
syntax keyword ltrFunction chars chunk cifar10 cifar100 clamp class_counts class_of clone close collate
syntax keyword ltrFunction color_jitter concat confusion_counts constant contains contrastive conv1d conv2d
syntax keyword ltrFunction conv3d conv_transpose1d conv_transpose2d conv_transpose3d cos cosine
syntax keyword ltrFunction cosine_embedding cosine_restarts count counted cross_entropy csv ctc cumprod cumsum
syntax keyword ltrFunction cutmix cyclic diagonal dice dropout dropout2d edit_distances einsum elu embedding
syntax keyword ltrFunction end_epoch ends_with equal equalize erf exp expand exponential eye fashion_mnist
syntax keyword ltrFunction filter find flatten flip floor focal folds fraction full gather gaussian_blur
syntax keyword ltrFunction gaussian_nll gelu glu grad gradcheck grayscale group_norm gru hardswish hinge huber
syntax keyword ltrFunction idx image_folder image_grid index_select instance_norm int_uniform interpolate
syntax keyword ltrFunction inverse_sqrt isfinite isnan join jsonl kaiming_normal kaiming_uniform kl_div l1
syntax keyword ltrFunction layer_norm leaky_relu length linear linear_warmup linspace log1p log_softmax
syntax keyword ltrFunction log_uniform logcumsumexp logsigmoid logsumexp lower lstm map masked_fill matmul
syntax keyword ltrFunction max_pool1d max_pool2d maximum minimum mish mix mixup mnist mse multistep nll noam
syntax keyword ltrFunction norm normal normalize npy npz numel one_cycle one_hot ones or_else orthogonal
syntax keyword ltrFunction overfit pad pad_image permute pixel_shuffle plateau poisson_nll polynomial posterize
syntax keyword ltrFunction pow prefetch prelu prod ramp rand rand_augment randint randn random_affine
syntax keyword ltrFunction random_crop random_crop_pair random_erasing random_flip random_flip_pair
syntax keyword ltrFunction random_perspective random_resized_crop random_resized_crop_pair random_rotation
syntax keyword ltrFunction random_rotation_pair random_vflip random_vflip_pair randperm range ranks relu relu6
syntax keyword ltrFunction repeat replace reshape resize resize_pair rms_norm rnn roll rope round rsqrt sample
syntax keyword ltrFunction save save_png scatter scatter_add score_curve select selu sequential sharpness
syntax keyword ltrFunction shuffle sigmoid sign silu sin smooth_l1 soft_cross_entropy softmax softplus solarize
syntax keyword ltrFunction sort split sqlite sqrt square squeeze stack starts_with std stop stop_grad strip
syntax keyword ltrFunction swiglu synthetic take tanh tar_shards text_chars text_lines to_float token_shards
syntax keyword ltrFunction topk tracked transpose tril triplet_margin triu trivial_augment trunc_normal uniform
syntax keyword ltrFunction unique unsqueeze upper var vocab window wsd xavier_normal xavier_uniform zeros zip
syntax keyword ltrBlock AUROC Accuracy Adadelta Adafactor Adagrad Adam AdamW Adamax AdaptiveAvgPool1d
syntax keyword ltrBlock AdaptiveAvgPool2d AveragePrecision AvgPool1d AvgPool2d BatchNorm1d BatchNorm2d Bilinear
syntax keyword ltrBlock BinaryAUROC BinaryAccuracy BinaryAveragePrecision BinaryCalibrationError
syntax keyword ltrBlock BinaryCohenKappa BinaryConfusionMatrix BinaryF1Score BinaryFBetaScore
syntax keyword ltrBlock BinaryHammingDistance BinaryJaccardIndex BinaryMatthewsCorrCoef BinaryPrecision
syntax keyword ltrBlock BinaryRecall BinarySpecificity CalibrationError CharErrorRate Checkpoint CohenKappa
syntax keyword ltrBlock ConfusionMatrix Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d
syntax keyword ltrBlock CosineSimilarity Csv DeviceStats Dropout Dropout2d EarlyStop EditDistance Ema Embedding
syntax keyword ltrBlock ExactMatch ExplainedVariance F1Score FBetaScore Flatten FreezeUntil GRU GRUCell
syntax keyword ltrBlock GradNorm GroupNorm HammingDistance Histograms Identity InstanceNorm JaccardIndex
syntax keyword ltrBlock KLDivergence LSTM LSTMCell Lamb Lars LayerNorm Linear Lion LrMonitor MatthewsCorrCoef
syntax keyword ltrBlock MaxMetric MaxPool1d MaxPool2d MeanAbsoluteError MeanAbsolutePercentageError MeanMetric
syntax keyword ltrBlock MeanSquaredError MeanSquaredLogError MinMetric Mlflow MultiheadAttention
syntax keyword ltrBlock MultilabelAUROC MultilabelAccuracy MultilabelAveragePrecision MultilabelExactMatch
syntax keyword ltrBlock MultilabelF1Score MultilabelFBetaScore MultilabelHammingDistance MultilabelPrecision
syntax keyword ltrBlock MultilabelRecall MultilabelSpecificity Muon NAdam PReLU PeakSignalNoiseRatio
syntax keyword ltrBlock PearsonCorrCoef Perplexity PixelShuffle Precision ProgressBar R2Score RAdam RMSNorm
syntax keyword ltrBlock RMSprop RNN RNNCell Recall RetrievalMAP RetrievalMRR RetrievalNormalizedDCG
syntax keyword ltrBlock RootMeanSquaredError Rprop RunningMean SGD ScaleInvariantSignalDistortionRatio
syntax keyword ltrBlock SpearmanCorrCoef Specificity SpikeGuard StatScores StructuralSimilarityIndexMeasure
syntax keyword ltrBlock SumMetric Summary SymmetricMeanAbsolutePercentageError SyncBatchNorm TensorBoard
syntax keyword ltrBlock Throughput Timer TransformerEncoderLayer Upsample WordErrorRate bert forecaster gpt2
syntax keyword ltrBlock image_classifier lenet lstm_forecaster mlp mobilenet_v2 resnet18 resnet34 resnet50
syntax keyword ltrBlock segmenter tabular_classifier tabular_regressor text_classifier unet vit_b16
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
