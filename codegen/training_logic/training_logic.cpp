#include "codegen/training_logic/training_logic.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "codegen/training_logic/rules.h"
#include "codegen/training_logic/trace.h"

namespace ltr::training_logic {

namespace {

// `is_damaged`: a weight that could not be read may be meant.
void check_findings(const Findings& findings, const Heap& heap, bool is_damaged, Sink& sink) {
  check_second_owners(findings, heap, sink);
  check_reach(findings, heap, sink);
  check_stale_values(findings, heap, sink);
  check_gradients(findings, heap, sink);
  check_activations(findings, sink);
  check_samples(findings, sink);
  check_records(findings, sink);
  check_noise(findings, sink);
  check_totals(findings, sink);
  check_signs(findings, heap, sink);
  check_kinds(findings, sink);
  check_sides(findings, sink);
  check_averages(findings, sink);
  check_evaluation(findings, sink);
  check_metrics(findings, sink);
  if (!is_damaged) check_patterns(findings, heap, sink);
}

void add_called(const ir::Region& region, std::set<std::string>& called) {
  for (const ir::Op& op : region.ops) {
    if (op.kind == ir::OpKind::CallFn || op.kind == ir::OpKind::CallMethod) called.insert(op.name);
    for (const ir::Region& inner : op.regions) add_called(inner, called);
  }
}

class Checker {
 public:
  Checker(const ir::Module& module, const check::Program& program, Sink& sink)
      : module_(module), program_(program), sink_(sink), trace_(module, heap_) {
    for (const ir::Function& function : module.functions) {
      if (function.role == ir::Role::Step || function.role == ir::Role::Hook)
        by_owner_[function.owner].push_back(&function);
      if (function.role == ir::Role::MakeModel) makes_.push_back(&function);
    }
    for (const check::Object& model : program.models) models_.emplace(model.name, &model);
    for (const check::Object& callback : program.callbacks) callbacks_[callback.model].push_back(&callback);
    for (const check::Test& test : program.tests) tests_.emplace(program.fns[test.fn].span, &test);
    for (const auto* objects : {&program.blocks, &program.models}) {
      for (const check::Object& object : *objects) has_damage_ = has_damage_ || object.is_damaged;
    }
  }

  void run() {
    for (const ir::ObjectInfo& object : module_.tables->objects) {
      if (object.kind == ir::TypeKind::Model && !object.is_library) check_model(object);
    }
    check_tests();
    check_rest();
  }

 private:
  // With arguments of which nothing is known, and as each experiment builds it that gives it blocks.
  void check_model(const ir::ObjectInfo& info) {
    trace_.findings = {};
    trace_.start_anew();
    check_built(info, trace_.build(info), nullptr);
    check_batches(info, nullptr);
    for (const ir::Function* make : makes_of(info)) {
      trace_.findings = {};
      trace_.start_anew();
      const std::optional<ObjectId> model = trace_.build_wired(*make);
      if (!model || heap_.objects[*model].name != info.name) continue;
      check_built(info, *model, &make->loc.span);
      check_batches(info, make);
    }
  }

  /// What wires this model for an experiment.
  const std::vector<const ir::Function*>& makes_of(const ir::ObjectInfo& info) {
    // Which model one makes is known once it is followed.
    for (const ir::Function* make : std::exchange(makes_, {})) {
      trace_.start_anew();
      if (const auto model = trace_.build_wired(*make))
        makes_of_[std::string(heap_.objects[*model].name)].push_back(make);
    }
    return makes_of_[info.name];
  }

  // `experiment`: the one that builds it so; null: whichever.
  void check_built(const ir::ObjectInfo& info, ObjectId object, const Span* experiment) {
    const auto declared = models_.find(info.shown);
    const bool is_damaged = declared != models_.end() && declared->second->is_damaged;
    ModelTrace model{info, object, {}};
    model.has_error = trace_.findings.has_error || is_damaged;
    for (const ir::Function* function : by_owner_[info.name]) {
      if (function->role != ir::Role::Step) continue;
      model.steps.push_back(function);
      trace_.findings.has_error = false;
      trace_.run(*function, model.object);
      if (function->name.ends_with(".train")) model.train_has_error = trace_.findings.has_error;
    }
    follow_hooks(info, model.object);
    trace_.findings.has_error = model.train_has_error;
    if (!is_damaged) check_train_step(module_, model, sink_);
    check_findings(trace_.findings, heap_, has_damage_ || model.has_error, sink_);
    say_cut();
    check_ownership(model, trace_.findings, heap_, sink_);
    if (!model.has_error) check_followed(trace_.findings, heap_, sink_);
    check_matrices(model, trace_.findings, heap_, sink_);
    if (!has_damage_ && !model.has_error) check_held(model, program_, experiment, heap_, sink_);
  }

  // Hooks may write weights with `ema_update`; nothing else in them is for these rules.
  void follow_hooks(const ir::ObjectInfo& info, ObjectId model) {
    const Findings kept = trace_.findings;
    for (const check::Object* callback : callbacks_[info.shown]) {
      const ObjectId self = trace_.build_callback(callback->name, model);
      for (const ir::Function* function : by_owner_[callback->name]) {
        if (function->role == ir::Role::Hook) trace_.run(*function, self);
      }
    }
    const std::vector<UnlikeAverage> averages = std::move(trace_.findings.averages);
    const std::vector<Followed> followed = std::move(trace_.findings.followed);
    trace_.findings = kept;
    trace_.findings.averages = averages;
    trace_.findings.followed = followed;
  }

  // What is averaged over a batch needs more than one record, in every experiment with the model; or in that of `make` alone.
  void check_batches(const ir::ObjectInfo& info, const ir::Function* make) {
    if (trace_.findings.statistics.empty()) return;
    for (const check::Experiment& experiment : program_.experiments) {
      if (experiment.train_batch != 1 || program_.models[experiment.model].name != info.shown) continue;
      if (make != nullptr && make->loc.span != experiment.span) continue;
      diagnostics::Diagnostic diagnostic = diag::batch_of_one(experiment.train_batch_span);
      diagnostic.label(trace_.findings.statistics[0], "BatchNorm in step train")
          .help("take larger batches, or GroupNorm or LayerNorm, which look at one record at a time");
      sink_.report(std::move(diagnostic));
    }
  }

  // The tests stand in the module in the order of the program; those that `check` has decided have
  // no code.
  void check_tests() {
    std::vector<const ir::Function*> tests;
    for (const ir::Function& function : module_.functions) {
      if (function.role == ir::Role::Test) tests.push_back(&function);
    }
    for (const ir::Function* test : tests) {
      trace_.findings = {};
      trace_.start_anew();
      trace_.run(*test, std::nullopt);
      const auto declared = tests_.find(test->loc.span);
      if (declared == tests_.end() || declared->second->fails.empty()) {
        check_findings(trace_.findings, heap_, has_damage_, sink_);
      } else {
        Sink own;
        check_findings(trace_.findings, heap_, has_damage_, own);
        decide(*declared->second, own);
      }
      say_cut();
    }
  }

  void decide(const check::Test& test, const Sink& found) {
    std::string others;
    bool is_found = false;
    for (const diagnostics::Diagnostic& diagnostic : found.reported()) {
      const std::string_view code = diagnostics::to_text(diagnostic.code);
      is_found = is_found || code == test.fails;
      if (code == test.fails || diagnostic.severity != diagnostics::Severity::Error) continue;
      others += (others.empty() ? "" : ", ") + std::string(code) + " (" + diagnostic.message + ")";
    }
    if (is_found && others.empty()) return;
    sink_.report(diag::fails_otherwise(test.fails_span, test.fails,
                                       others.empty() ? "nothing is wrong with it" : "finds " + others));
  }

  // What no step and no test calls is looked at by itself; its arguments may be anything. First what nothing calls at all: the
  // rest is followed with it, not once for each that calls it.
  void check_rest() {
    std::set<std::string> called;
    for (const ir::Function& function : module_.functions) add_called(function.body, called);
    trace_.findings = {};
    for (const bool is_called : {false, true}) {
      const ir::ObjectInfo* built = nullptr;
      std::optional<ObjectId> self;
      for (const ir::Function& function : module_.functions) {
        const bool is_code = function.role == ir::Role::Free || function.role == ir::Role::Method;
        if (!is_code || function.is_library || called.contains(function.name) != is_called ||
            trace_.has_followed(function))
          continue;
        const ir::ObjectInfo* owner = function.owner.empty() ? nullptr : trace_.find_object(function.owner);
        // One object at a time: thousands that each hold the one before would fill the memory.
        if (owner != built) {
          trace_.start_anew();
          self = owner != nullptr ? std::optional(trace_.build(*owner)) : std::nullopt;
          built = owner;
        }
        trace_.run(function, self);
      }
    }
    check_activations(trace_.findings, sink_);
    say_cut();
  }

  // W0403, once: what calls a function that does too much does too much.
  void say_cut() {
    if (is_cut_said_ || trace_.findings.cut.empty()) return;
    is_cut_said_ = true;
    sink_.report(diag::not_followed(*trace_.findings.cut.begin())
                     .note("what it does with weights, updates and metrics beyond is not checked")
                     .help("a loop says in one line what a thousand lines say"));
  }

  const ir::Module& module_;
  const check::Program& program_;
  Sink& sink_;
  Heap heap_;  ///< of one model, experiment or test at a time: thousands of them would fill the memory
  Trace trace_;
  std::unordered_map<std::string, std::vector<const ir::Function*>> by_owner_;    ///< steps and hooks
  std::vector<const ir::Function*> makes_;                                        ///< those that were not followed yet
  std::unordered_map<std::string, std::vector<const ir::Function*>> makes_of_;    ///< by the model that they make
  std::unordered_map<std::string, const check::Object*> models_;                  ///< by the name that is shown
  std::unordered_map<std::string, std::vector<const check::Object*>> callbacks_;  ///< by the model that they are for
  std::map<Span, const check::Test*> tests_;
  bool is_cut_said_ = false;
  bool has_damage_ = false;  ///< some block or model could not be read whole
};

}  // namespace

std::shared_ptr<const void> check_training(const ir::Module& module, const check::Program& program,
                                           diagnostics::Sink& sink) {
  const auto checker = std::make_shared<Checker>(module, program, sink);
  checker->run();
  return checker;
}

}  // namespace ltr::training_logic
