#pragma once

// Names that steps and hooks have without a declaration.

#include <string_view>

namespace ltr::check {

/// Where a name is known.
enum class Reach {
  Steps,      ///< steps and hooks
  Settings,   ///< also what is built for an experiment: members, optimizers, settings
  SomeHooks,  ///< the hooks that bring it
};

struct PlaceName {
  std::string_view name;
  std::string_view type;  ///< as `.ltr` writes it
  Reach reach;
  std::string_view doc;
};

inline constexpr PlaceName kPlaceNames[] = {
    {"epoch", "int", Reach::Steps, "the epoch, from 0"},
    {"global_step", "int", Reach::Steps, "updates so far, over all resumes"},
    {"batch_index", "int", Reach::Steps, "the batch of its epoch or round, from 0"},
    {"batch_size", "int", Reach::Steps, "records of this batch, on this rank"},
    {"rank", "int", Reach::Steps, "which process this is, from 0"},
    {"world", "int", Reach::Settings, "how many processes there are"},
    {"verb", "str", Reach::SomeHooks, "what the program was told to do: `fit`, `test`"},
    {"batch", "record", Reach::SomeHooks, "the batch, by its fields: `batch.image`"},
    {"output", "tensor", Reach::SomeHooks, "what `step predict` of the model behind `for` returned"},
    {"loss", "float[]", Reach::SomeHooks, "the loss of the batch, on this rank"},
    {"optimizer", "optimizer", Reach::SomeHooks, "whose update it is: `.name`, `.lr`, `.weights`, `.grads`"},
    {"grad_norm", "float", Reach::SomeHooks, "the norm of the optimizer's gradients, before clipping"},
    {"stream", "str", Reach::SomeHooks, "the stream of the batch: `val`, or `val.clean` of several"},
    {"path", "str", Reach::SomeHooks, "the folder of the checkpoint"},
    {"code", "str", Reach::SomeHooks, "of the error: `R3003`"},
    {"reason", "str", Reach::SomeHooks, "the text of the error"},
};

}  // namespace ltr::check
