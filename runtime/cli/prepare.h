#pragma once

// From the command line to something that can run: experiment, settings, device, data, model (runtime.md 2.2, 1 to 6).

#include <functional>
#include <memory>
#include <optional>

#include "runtime/cli/device_choice.h"
#include "runtime/cli/options.h"
#include "runtime/cli/settings.h"
#include "runtime/cli/terminal.h"
#include "runtime/distributed/place.h"
#include "runtime/distributed/strategy.h"
#include "runtime/tensor/device.h"
#include "runtime/train/model_root.h"
#include "runtime/train/trainer.h"

namespace ltr::distributed {
struct RunWords;
}

namespace ltr::cli {

struct Faults {
  std::vector<Error> list;
};

/// One start of the program.
class Start {
 public:
  Start(const Program& program, CommandLine line, Terminal terminal, const Ranks& ranks = one_rank());
  ~Start();

  /// Chooses the experiment and resolves its settings; throws Faults with everything that is wrong. Once more: anew.
  void resolve();
  /// Lists callbacks and loggers, with those that are there by themselves; once more, after `settings.set_run`: anew.
  void list_callbacks();
  /// Threads, device and precision, as resolved. Once more: nothing.
  void set_up_device();
  /// Opens the data and builds the model.
  void build();
  /// The data alone.
  void open_data();
  /// What streams hold, facts and vocabularies, is what the checkpoint of `weights` says, if they are of one.
  void know_from(const Str& weights);
  /// Data and model go; others may be built.
  void let_go();
  /// The start block's facts about the streams.
  RunRequest request(Progress& progress);

  const Program& program;
  std::vector<Str> command;  ///< all words, for `run.json`
  Str called;                ///< what the program is started by: `./mnist`, `ltrc run mnist.ltr`
  CommandLine line;
  Terminal terminal;
  const Ranks& ranks;
  bool is_alone =
      false;             ///< tells of a run without being one of its ranks: the topology may ask for any number of them
  bool is_plan = false;  ///< looks at the settings of ranks that are still to come, up to `local_rank`: loads no device
  int64_t sharing = 1;   ///< ranks that share the cores of this one
  int64_t local_rank = 0;    ///< this process' place among those of its machine
  distributed::Place place;  ///< this rank's, and where it met the others
  /// What the ranks write is known: their supervisor lets them go on with it.
  std::function<void(const distributed::RunWords& run)> tell_run;  ///< where a supervisor listens
  const ExperimentInfo* experiment = nullptr;
  const TopologyInfo* topology = nullptr;
  RunSettings settings;
  TrainerSettings trainer;
  RunFlags flags;
  Str precision = "f32";
  distributed::Strategy strategy;
  DeviceChoice device;
  int64_t threads = 1;
  int64_t workers = 1;
  int64_t prefetch = 2;
  std::unique_ptr<Data> data;
  std::unique_ptr<ModelRoot> root;
  Model* model = nullptr;
  std::optional<DeviceScope> on_device;  ///< once the data is open

  Str out_dir() const { return cli::out_dir(line); }
  Str run_name() const { return line.get("name"); }
  /// Throws if `settings` collected faults.
  void check() const;

 private:
  void choose_experiment();
  void choose_topology();
  void give_settings();
  void give_option(GivenOption& given);
  void read_trainer();
  void check_topology();
  /// `--overfit`: train and val streams deliver the first train batches.
  void overfit();
  bool is_device_set_up_ = false;
  Str known_from_;  ///< a checkpoint
};

/// Names of all hparams, and of the parameters of steps that no field fills: they are options.
std::vector<Str> option_names(const Program& program, std::vector<HparamInfo>& hparams);

/// What a loader says about a stream before it is read.
struct StreamSize {
  Str name;
  int64_t samples = 0;
  int64_t batches = 0;
  int64_t batch_size = 0;
};
std::vector<StreamSize> stream_sizes(const Start& start);
/// The same of the train stream alone, without the limits of the trainer; with no name if there is none. `samples` is kEndless
/// of one that has no end.
StreamSize train_size(const Start& start);

/// The weights that `--weights` means, as a path for load_weights; "" for new ones. `run` is the folder they came from.
/// R2010 if there are none.
Str find_weights(const Start& start, const Str& which, Str& run);
/// How far what `find_weights` gave was trained, if it is a checkpoint.
Trained trained_of(const Str& weights);
/// What `--weights` of a run that begins says: the model has them afterwards.
void take_given_weights(Start& start);

/// The folders of the program's sources, each once.
std::vector<Str> folders_of(const Program& program);

}  // namespace ltr::cli
