#pragma once

// Files of weights, of this or another tool, as tensors.

#include <map>

#include <ATen/core/Tensor.h>

#include "doors/weights_file.h"
#include "ltr/api.h"
#include "runtime/api/error.h"

namespace ltr {

/// Why the file that messages call `shown` cannot be used, and what converts it: R2011 if it is damaged, else R2010.
Error unreadable(const doors::WeightsError& error, const Str& shown, const Location& location);

/// Opens `path`; `unreadable` says why it cannot be used.
doors::WeightsFile open_weights(const Str& path, const Str& shown, const Location& location);

/// A stored tensor over the bytes of `file`, which it must not outlive. Its type is one of ours. R2011 if the bytes are
/// not those that were written.
at::Tensor borrow_tensor(doors::WeightsFile& file, const doors::TensorEntry& stored, const Str& shown,
                         const Location& location);

/// What keeps a stored tensor from becoming `mine`, or "". Floats become other floats; shapes are equal.
Str misfit(const doors::TensorEntry& stored, const at::Tensor& mine);

/// What people are told where weights of `source` get another width.
Str conversion_note(const Str& source, const std::vector<Str>& converted);
/// The same where tensors of `source` hold nan: each loss that they are part of will be nan.
Str nan_note(const Str& source, const std::vector<Str>& names);

/// At most eight names, then how many more.
Str listed(const std::vector<Str>& names);

/// The tensors of the file that `--weights` names, under the names of `wanted`: as they are stored, or, where that makes
/// every name fit, with one prefix taken away or put in front (`module.`, `net.`). Only such whose types fit.
std::map<Str, at::Tensor> read_weights(const Str& path, const std::map<Str, at::Tensor>& wanted);

}  // namespace ltr
