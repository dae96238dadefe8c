#pragma once

// Files of weights, of this or another tool, as tensors.

#include <map>

#include <ATen/core/Tensor.h>

#include "doors/weights_file.h"
#include "ltr/api.h"

namespace ltr {

/// Opens `path`; `shown` is what messages call it. R2010 says why it cannot be used, and what converts it.
doors::WeightsFile open_weights(const Str& path, const Str& shown, const Location& location);

/// A stored tensor over the bytes of `file`, which it must not outlive. Its type is one of ours.
at::Tensor borrow_tensor(doors::WeightsFile& file, const doors::TensorEntry& stored);

/// What keeps a stored tensor from becoming `mine`, or "". Floats become other floats; shapes are equal.
Str misfit(const doors::TensorEntry& stored, const at::Tensor& mine);

/// What people are told where weights of `source` get another width.
Str conversion_note(const Str& source, const std::vector<Str>& converted);

/// At most eight names, then how many more.
Str listed(const std::vector<Str>& names);

/// The tensors of the file that `--weights` names, under the names of `wanted`: as they are stored, or, where that makes
/// every name fit, with one prefix taken away or put in front (`module.`, `net.`). Only such whose types fit.
std::map<Str, at::Tensor> read_weights(const Str& path, const std::map<Str, at::Tensor>& wanted);

}  // namespace ltr
