#pragma once

// What the compiler knows of the functions of the library beside their declarations in `stdlib/`.

#include <array>
#include <cstdint>
#include <string_view>

namespace ltr::library {

/// A function of the library. Calls and ops carry it, so that no phase behind `check` compares names.
enum class Id : uint16_t {
  None,  ///< a function of the program, or none
#define LTR_ROW(id, name, space, rule, ...) id,
#include "dsl/library/functions.def"
};

/// Name spaces: `split` of a tensor and `split` of a stream are two functions.
enum class Space : uint8_t {
  Values,    ///< of tensors and host values
  Streams,   ///< sources and stages
  Settings,  ///< calls that are kept as values: optimizers, schedules, callbacks, loggers, values of the trainer, draws
  Weights,   ///< of the weights of a block
  Texts,     ///< methods of text
  Written,   ///< in Ltr, of which the checks know something
};

enum class Draws : uint8_t {
  Never,
  InTraining,  ///< random numbers; in evaluation it draws none
  Always,
  Uniform,  ///< always, numbers in a range: compared with a share they are a mask
  Mask,     ///< always, zeros and ones
};

enum class Gradient : uint8_t { Flows, Stops };

/// Where the numbers of a result lie, which may be probabilities, and are no scores of any size and sign.
enum class Bounds : uint8_t {
  Unbound,
  NotNegative,
  Within,  ///< between -1 and 1
};

/// What one call costs in the forward pass.
struct Cost {
  enum class Kind : uint8_t {
    Output,   ///< `factor` operations for each element of the result
    Input,    ///< `factor` operations for each element of the first operand
    Copy,     ///< moves memory, computes nothing
    View,     ///< another view of the same memory
    Factors,  ///< `factor` operations for each element of the matrices of the first operand and each of its columns
    // Products, two operations for each multiply-add, which `elaborate/cost.cpp` counts from the operands. The backward
    // pass makes one such product for each operand that needs a gradient.
    Linear,
    Convolution,            ///< on a core, what it reads and gives is brought into an order of its own
    ConvolutionTransposed,  ///< likewise
    Recurrent,              ///< with one state
    Lstm,                   ///< with two
    // Many products, each of few numbers, such as those of the heads.
    Matmul,
    Einsum,
    Bilinear,
    Attention,
  };
  Kind kind = Kind::Output;
  double factor = 1;

  bool is_product() const { return kind >= Kind::Linear; }
  bool is_of_few_numbers() const { return kind >= Kind::Matmul; }
};

/// What the runtime keeps for the backward pass.
struct Keeps {
  enum class What : uint8_t { Nothing, Operands, Result, Both };
  What what = What::Operands;
  double of_result = 0;   ///< numbers of its own, for each of the result
  double of_operand = 0;  ///< and for each of the first operand
};

/// Which records a source or stage delivers.
enum class Records : uint8_t {
  None,     ///< it is neither
  Filed,    ///< those of files, in their order
  Counted,  ///< as many as its argument says, made from their number: they have no order of their own
  Same,     ///< those that come in
  Mixed,    ///< those that come in, in another order
  Again,    ///< those that come in, several times
  First,    ///< as many as its argument says, by their places
  Rest,     ///< all but as many as its argument says, by their places
  Part,     ///< some, by their places
  Chosen,   ///< some, by what they hold
  Windows,  ///< several neighbours as one
  Packed,   ///< what all hold, one behind the other, in parts of one size
  Batches,  ///< several as one, until all are used up
  Joined,   ///< those of several streams
};

/// What the periods of a callback may count.
enum class Periods : uint8_t {
  AnyPeriod,  ///< steps, epochs or time
  NoTime,     ///< steps or epochs
  InSteps,
  InEpochs,
};

/// A row of `functions.def`, which explains the columns.
struct Function {
  std::string_view name;
  Space space = Space::Values;
  std::string_view operands;
  Draws draws = Draws::Never;
  uint8_t rate_at = 0;
  Gradient gradient = Gradient::Flows;
  bool rearranges = false;
  bool gives_probs = false;
  bool gives_scores = false;
  bool spoils_scores = false;
  Bounds bounds = Bounds::Unbound;
  bool takes_logs = false;
  bool takes_probs = false;
  bool gives_each = false;
  std::array<Id, 3> refuses = {};
  uint8_t signs_at = 0;
  bool is_of_batch = false;
  std::string_view sign;
  Cost cost;
  double loop = 0;
  Keeps keeps;
  Records records = Records::None;
  bool wants_schema = false;
  bool wants_end = false;
  bool asks_trainer = false;
  std::string_view warmup;
  bool moves_matrices = false;
  bool repeats_step = false;
  bool begins_matrices = false;
  bool reads_batches = false;
  bool watches_steps = false;
  bool shows_rounds = false;
  bool is_single = false;
  Periods periods = Periods::AnyPeriod;
  Id calls = Id::None;

  /// Whether it draws whenever it is called.
  bool always_draws() const { return draws > Draws::InTraining; }
  /// Whether it is a loss of scores, to which it applies an activation itself.
  bool takes_scores() const { return refuses[0] != Id::None && !gives_probs; }
  /// Whether it must not come behind `activation`, which it applies itself.
  bool refuses_behind(Id activation) const;
};

/// The row of `id`; of `None` one that knows nothing.
const Function& info(Id id);

/// Whether it compares what is predicted, its first argument, with what is wanted, the second: those of `losses.def`.
bool is_loss(Id id);

/// Whether it varies images at random: those of `vision.def` that draw.
bool is_augmentation(Id id);

/// The function of this name, or `None`.
Id find(Space space, std::string_view name);

}  // namespace ltr::library
