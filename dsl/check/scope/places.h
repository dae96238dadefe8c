#pragma once

// Names that steps, hooks and tests have without a declaration.

#include <algorithm>
#include <cstdint>
#include <iterator>
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

/// A function that only some places have; `docs/language` says what it does.
struct PlaceFunction {
  enum class Of : uint8_t { Hooks, Tests };
  std::string_view name;
  const char* form;  ///< how it is called
  Of place;
};

inline constexpr PlaceFunction kPlaceFunctions[] = {
    {"stop", "stop(\"why\")", PlaceFunction::Of::Hooks},
    {"save", "save(\"name\")", PlaceFunction::Of::Hooks},
    {"end_epoch", "end_epoch(\"why\")", PlaceFunction::Of::Hooks},
    {"metric", "metric(val.loss)", PlaceFunction::Of::Hooks},
    {"overfit", "overfit(model, data, steps = 60)", PlaceFunction::Of::Tests},
    {"gradcheck", "gradcheck(f, x)", PlaceFunction::Of::Tests},
    {"close", "close(a, b, tolerance)", PlaceFunction::Of::Tests},
    {"equal", "equal(a, b)", PlaceFunction::Of::Tests},
};

/// The function that `place` has under that name, or nullptr.
constexpr const PlaceFunction* find_place_function(PlaceFunction::Of place, std::string_view name) {
  const auto* found = std::find_if(std::begin(kPlaceFunctions), std::end(kPlaceFunctions),
                                   [&](const PlaceFunction& one) { return one.place == place && one.name == name; });
  return found == std::end(kPlaceFunctions) ? nullptr : found;
}

}  // namespace ltr::check
