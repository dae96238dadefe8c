#pragma once

// What layers that read moment by moment have in common.

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

/// What a layer takes; x [batch, moments, inputs].
struct RecurrentLayer {
  Layout x, h, c, weight_ih, weight_hh, bias_ih, bias_hh;  ///< biases and c have no roots where there are none
  int64_t gates = 0;                                       ///< of a unit
  int64_t batch = 0, moments = 0, hidden = 0;
  bool is_reversed = false;

  int64_t places() const { return batch * moments; }
  int64_t width() const { return gates * hidden; }
  int64_t last() const { return is_reversed ? 0 : moments - 1; }
};

/// From argument `first` on, with as many gates for a unit; nothing where there is no kernel for it.
Option<RecurrentLayer> layer_of(Lowering& to, size_t first, int64_t gates);
Layout new_values(Lowering& to, const Ints& sizes);
/// A result of the node, or memory where nobody asks for it.
Layout result_or_new(Lowering& to, size_t at, const Ints& sizes);
/// [batch, moments, n] as [batch · moments, n].
Layout as_places(const RecurrentLayer& layer, const Layout& of);
/// Whether all of these lie apart by samples.
bool are_apart(const Lowering& to, std::initializer_list<const Layout*> layouts);
/// Both biases in one; no root where there are none.
Layout bias_of(Lowering& to, const RecurrentLayer& layer);
/// The output of the last moment, which is part of all of them.
Layout last_of(const RecurrentLayer& layer, const Layout& outputs);
Str named(const Lowering& to, const RecurrentLayer& layer);

}  // namespace ltr::plan
