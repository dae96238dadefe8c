#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "runtime/optim/optimizer.h"
#include "runtime/optim/schedule_call.h"
#include "runtime/tables/rule_states.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/root_state.h"

// Against tests/parity/optim.json, which record_optim.py made with PyTorch.

namespace ltr {

namespace {

nlohmann::json reference() {
  std::ifstream file(LTR_SOURCE_DIR "/tests/parity/optim.json");
  REQUIRE(file);
  return nlohmann::json::parse(file);
}

Value value_of(const nlohmann::json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_array()) return Value::tuple({json[0].get<double>(), json[1].get<double>()});
  return json.get<double>();
}

struct Problem {
  explicit Problem(const Value& rule, std::vector<Argument> settings = {}) : root(0) {
    const Tensor a = give(at::sin(at::arange(12, at::kDouble)).reshape({3, 4}));
    const Tensor b = give(at::cos(at::arange(5, at::kDouble)));
    weights = {{"a", root.scope().weight("a", a, {})}};
    // Muon moves matrices alone.
    if (rule.text != "Muon") weights.push_back({"b", root.scope().weight("b", b, {})});
    optimizer = root.scope().optimizer("opt", rule, weights, std::move(settings), {}, {});
    root.finish();
  }
  void set_grads(int64_t t) {
    for (const Weight& weight : weights) {
      const at::Tensor w = In(weight.tensor)->detach();
      const at::Tensor wave = at::cos(0.1 * double(t) + 0.3 * at::arange(w.numel(), at::kDouble)).reshape(w.sizes());
      In(weight.tensor)->mutable_grad() = w / 2 + wave;
    }
  }
  ModelRoot root;
  Weights weights;
  Optimizer* optimizer;
};

Argument steps(const char* name, double count) { return {name, Value::steps(count), "period", {}}; }

/// The calls that the names in the reference stand for.
Value schedule_call(const Str& name) {
  const auto number = [](const char* key, double value) { return Argument{key, value, "float", {}}; };
  const auto symbol = [](const char* key, const char* value) { return Argument{key, Value::symbol(value), "", {}}; };
  const Argument total = steps("total", 120);
  if (name == "cosine(total = 120 steps)") return Value::call("cosine", {total});
  if (name.starts_with("cosine(final")) return Value::call("cosine", {number("final", 0.1), total});
  if (name.starts_with("step(")) return Value::call("step", {steps("every", 30), number("gamma", 0.5)});
  if (name.starts_with("multistep(")) {
    return Value::call(
        "multistep",
        {{"at", Value::list({Value::steps(20), Value::steps(50), Value::steps(90)}), "", {}}, number("gamma", 0.3)});
  }
  if (name.starts_with("exponential(")) return Value::call("exponential", {number("gamma", 0.9), steps("every", 1)});
  if (name.starts_with("linear(")) return Value::call("linear", {number("to", 0.1), steps("total", 100)});
  if (name.starts_with("polynomial(")) return Value::call("polynomial", {number("power", 2), steps("total", 100)});
  if (name.starts_with("cosine_restarts("))
    return Value::call("cosine_restarts", {steps("first", 20), number("mult", 2)});
  if (name == "one_cycle(total = 120 steps)") return Value::call("one_cycle", {total});
  if (name.starts_with("one_cycle(")) {
    return Value::call("one_cycle", {total, {"three_phase", true, "bool", {}}, symbol("anneal", "linear")});
  }
  std::vector<Argument> cyclic{number("low", 0.01), number("high", 0.1), steps("up", 20)};
  if (name.find("triangular2") != Str::npos) {
    cyclic.push_back(steps("down", 30));
    cyclic.push_back(symbol("mode", "triangular2"));
  }
  if (name.find("exp_range") != Str::npos) {
    cyclic.push_back(symbol("mode", "exp_range"));
    cyclic.push_back(number("gamma", 0.99));
  }
  return Value::call("cyclic", cyclic);
}

}  // namespace

TEST_CASE("every optimizer moves as PyTorch's over 200 steps in f64") {
  const nlohmann::json expected = reference();
  for (const nlohmann::json& row : expected["rules"]) {
    CAPTURE(row["name"].get<Str>());
    CAPTURE(row["arguments"].dump());
    std::vector<Str> names;
    for (const auto& [key, value] : row["arguments"].items()) names.push_back(key);
    std::vector<Argument> arguments;
    for (const Str& name : names) arguments.push_back({name.c_str(), value_of(row["arguments"][name]), "", {}});
    Problem problem(Value::call(row["name"], arguments));
    const NoGrad no_grad;
    for (int64_t t = 0; t < expected["steps"].get<int64_t>(); t++) {
      problem.set_grads(t);
      problem.optimizer->step(t);
    }
    for (size_t i = 0; i < problem.weights.size(); i++) {
      const at::Tensor flat = In(problem.weights[i].tensor)->detach().flatten().contiguous();
      double worst = 0;
      for (int64_t k = 0; k < flat.numel(); k++) {
        const double wanted = row["weights"][i][size_t(k)];
        worst = std::max(worst, std::abs(flat.const_data_ptr<double>()[k] - wanted) / std::max(1.0, std::abs(wanted)));
      }
      // Muon computes its direction in bf16, where one rounding the other way shows.
      CHECK(worst < (row["name"] == "Muon" ? 1e-2 : 1e-12));
    }
  }
}

TEST_CASE("the kernels move f32 as ATen's ops do, on parts of any length") {
  nlohmann::json rows = reference()["rules"];
  rows.push_back({{"name", "Lion"}, {"arguments", {{"lr", 0.01}, {"weight_decay", 0.1}}}});
  for (const nlohmann::json& row : rows) {
    CAPTURE(row["name"].get<Str>());
    CAPTURE(row["arguments"].dump());
    std::vector<Str> names;
    for (const auto& [key, value] : row["arguments"].items()) names.push_back(key);
    std::vector<Argument> arguments;
    for (const Str& name : names) arguments.push_back({name.c_str(), value_of(row["arguments"][name]), "", {}});
    const Value rule = Value::call(row["name"], arguments);
    // What does not lie in one piece is moved by ATen's ops. The weight is large enough for more than one thread.
    const at::Tensor start = at::sin(at::arange(3 * 25'000, at::kFloat)).reshape({3, 25'000});
    ModelRoot plain(0), spread(0);
    const Tensor w = plain.scope().weight("a", give(start.clone()), {});
    const Tensor v = spread.scope().weight("a", give(start.t().contiguous().t()), {});
    Optimizer* ours = plain.scope().optimizer("opt", rule, plain.scope().weights(), {}, {}, {});
    Optimizer* theirs = spread.scope().optimizer("opt", rule, spread.scope().weights(), {}, {}, {});
    plain.finish();
    spread.finish();
    REQUIRE_FALSE(In(v)->is_contiguous());
    const NoGrad no_grad;
    for (int64_t t = 0; t < 20; t++) {
      const at::Tensor wave = at::cos(0.1 * double(t) + 0.3 * at::arange(start.numel(), at::kDouble));
      const at::Tensor grad = wave.reshape(start.sizes()).to(at::kFloat);
      In(w)->mutable_grad() = grad.clone();
      In(v)->mutable_grad() = grad.t().contiguous().t();
      ours->step(t);
      theirs->step(t);
    }
    CHECK_FALSE(at::equal(In(w), start));
    // To the last digit; Adafactor and Muon have no kernel, and their means and products hang on the layout.
    if (row["name"] != "Adafactor" && row["name"] != "Muon") CHECK(at::equal(In(w), In(v)));
  }
}

TEST_CASE("rows of a table that have a gradient move as with all of it") {
  for (const Value& rule :
       {Value::call("SGD", {{"lr", 0.1, "", {}}}),
        Value::call("Adagrad", {{"lr", 0.1, "", {}}, {"lr_decay", 0.1, "", {}}, {"initial", 0.2, "", {}}}),
        Value::call("Adagrad", {{"lr", 0.1, "", {}}, {"maximize", true, "", {}}})}) {
    CAPTURE(rule.text);
    const at::Tensor start = at::sin(at::arange(40, at::kFloat)).reshape({8, 5});
    ModelRoot few(0), all(0);
    const Tensor w = few.scope().weight("a", give(start.clone()), {}),
                 v = all.scope().weight("a", give(start.clone()), {});
    Optimizer* ours = few.scope().optimizer("opt", rule, few.scope().weights(), {}, {}, {});
    Optimizer* theirs = all.scope().optimizer("opt", rule, all.scope().weights(), {}, {}, {});
    few.finish();
    all.finish();
    CHECK(ours->rests(In(w)));
    const NoGrad no_grad;
    for (int64_t t = 0; t < 4; t++) {
      const at::Tensor rows = at::tensor({6 - t, t}, at::kLong).unsqueeze(0);
      const at::Tensor values = at::cos(at::arange(10, at::kFloat) + double(t)).reshape({2, 5});
      const at::Tensor grad = at::sparse_coo_tensor(rows, values, start.sizes()).coalesce();
      In(w)->mutable_grad() = grad;
      In(v)->mutable_grad() = grad.to_dense();
      ours->step(t);
      theirs->step(t);
    }
    CHECK(at::equal(In(w), In(v)));
    CHECK_FALSE(at::equal(In(w), start));
  }
  for (const Value& rule : {Value::call("Adagrad", {{"weight_decay", 0.1, "", {}}}), Value::call("Adam", {}),
                            Value::call("SGD", {{"momentum", 0.9, "", {}}})}) {
    ModelRoot one(0);
    const Tensor of = one.scope().weight("a", give(at::ones({3, 2})), {});
    Optimizer* optimizer = one.scope().optimizer("opt", rule, one.scope().weights(), {}, {}, {});
    one.finish();
    CHECK_FALSE(optimizer->rests(In(of)));
  }
}

TEST_CASE("the table of rules knows what they keep") {
  // In f64 of 200 by 300: rows, columns and numbers alone are less than a hundredth of it.
  const auto kept = [](const char* name, std::vector<Argument> arguments) {
    ModelRoot root(0);
    root.scope().child("net").weight("a", give(at::ones({200, 300}, at::kDouble)), {});
    root.scope().optimizer("opt", Value::call(name, std::move(arguments)), root.scope().weights(), {}, {}, {});
    root.finish();
    return int(root.optimizers()[0].state_bytes / (200 * 300 * sizeof(double)) + 0.01);
  };
  for (const optim::RuleStates& row : optim::kRuleStates) {
    CAPTURE(row.name);
    const bool has_history = Str(row.name) == optim::kRuleHistory.rule;
    const int history = has_history ? optim::kRuleHistory.states * optim::kRuleHistory.initial : 0;
    CHECK(kept(row.name, {}) == row.states + history);
    if (has_history)
      CHECK(kept(row.name, {{optim::kRuleHistory.argument, 7, "int", {}}}) ==
            row.states + 7 * optim::kRuleHistory.states);
    std::istringstream more(row.more);
    for (Str argument; more >> argument;) {
      CAPTURE(argument);
      const Value value = argument == "momentum" ? Value(0.9) : Value(true);
      CHECK(kept(row.name, {{argument.c_str(), value, "", {}}}) == row.states + 1);
    }
  }
}

TEST_CASE("every schedule gives PyTorch's rates") {
  const nlohmann::json expected = reference();
  for (const nlohmann::json& row : expected["schedules"]) {
    const Str name = row["name"];
    CAPTURE(name);
    if (name == "plateau") {
      const Value call = Value::call("plateau", {{"monitor", Value::series("val.loss"), "", {}},
                                                 {"mode", Value::symbol("min"), "", {}},
                                                 {"factor", 0.5, "", {}},
                                                 {"patience", 2, "", {}},
                                                 {"cooldown", 1, "", {}},
                                                 {"min_lr", 0.005, "", {}}});
      const optim::Length none;
      optim::Plateau plateau(optim::ScheduleCall(call, none));
      for (size_t i = 0; i < row["series"].size(); i++) {
        plateau.take(row["series"][i]);
        CHECK(plateau.rate(0, 0.1) == doctest::Approx(row["rates"][i].get<double>()).epsilon(1e-9));
      }
      continue;
    }
    const auto schedule = optim::make_schedule(schedule_call(name), {});
    double worst = 0;
    for (size_t t = 0; t < row["rates"].size(); t++) {
      // linear and polynomial end at 100 steps, as PyTorch's do.
      worst = std::max(worst, std::abs(schedule->rate(int64_t(t), 0.1) - row["rates"][t].get<double>()));
      if (const auto momentum = schedule->momentum(int64_t(t))) {
        worst = std::max(worst, std::abs(*momentum - row["momenta"][t].get<double>()));
      }
    }
    CHECK(worst < 1e-9);
  }
}

TEST_CASE("warm-ups rise, then the rest takes what remains") {
  const auto cosine = optim::make_schedule(Value::call("cosine", {steps("warmup", 10), steps("total", 110)}), {});
  CHECK(cosine->rate(0, 1) == doctest::Approx(0.1));
  CHECK(cosine->rate(9, 1) == doctest::Approx(1.0));
  CHECK(cosine->rate(10, 1) == doctest::Approx(1.0));
  CHECK(cosine->rate(60, 1) == doctest::Approx(0.5));
  CHECK(cosine->rate(110, 1) == doctest::Approx(0.0));
  const auto rise = optim::make_schedule(Value::call("linear_warmup", {steps("n", 4), {"from", 0.5, "", {}}}), {});
  CHECK(rise->rate(0, 1) == doctest::Approx(0.625));
  CHECK(rise->rate(3, 1) == doctest::Approx(1.0));
  CHECK_THROWS_AS(optim::make_schedule(Value::call("cosine", {}), {}), Error);
}

TEST_CASE("a schedule takes no argument that it does not know") {
  const auto said = [](const Value& call) -> Str {
    try {
      optim::make_schedule(call, {.total = 100});
    } catch (const Error& error) {
      return fmt::format("{} {} {}", error.code, error.message, error.help);
    }
    return "";
  };
  const Str misspelt = said(Value::call("cosine", {steps("warmpu", 20)}));
  CAPTURE(misspelt);
  CHECK(misspelt.find("R2002 no setting cosine.warmpu") == 0);
  CHECK(misspelt.find("did you mean warmup?") != Str::npos);
  CHECK(said(Value::call("cosine", {{"", 0.1, "", {}}})).find("R2002") == 0);
  CHECK(said(Value::call("plateau", {{"patiense", 1, "", {}}})).find("did you mean patience?") != Str::npos);
  const Value part = Value::call("constant", {});
  CHECK(said(Value::call("chain", {{"a", part, "", {}}, {"b", part, "", {}}})).empty());
  CHECK(said(Value::call("chain", {{"", part, "", {}}, {"", part, "", {}}})).empty());
  CHECK(said(Value::call("chain", {{"a", part, "", {}}, {"c", part, "", {}}})).find("R2002") == 0);
}

TEST_CASE("schedules by hand") {
  const auto number = [](const char* key, double value) { return Argument{key, value, "float", {}}; };
  const Value falls = Value::call("exponential", {number("gamma", 0.5), steps("every", 1)});
  const Value rises = Value::call("linear_warmup", {steps("n", 2)});
  const Value flat = Value::call("constant", {});
  const std::vector<std::pair<Value, std::vector<double>>> rows = {
      {Value::call("constant", {steps("warmup", 2)}), {0.5, 1, 1, 1}},
      // d^-1/2 min((t + 1)^-1/2, (t + 1) W^-3/2) with d = 4, W = 2.
      {Value::call("noam", {{"d", 4, "", {}}, steps("warmup", 2)}),
       {0.5 / std::sqrt(8), 1 / std::sqrt(8), 0.5 / std::sqrt(3), 0.25}},
      {Value::call("inverse_sqrt", {steps("warmup", 2)}), {0.5, 1, std::sqrt(2.0 / 3), std::sqrt(0.5)}},
      {Value::call("wsd", {steps("warmup", 1), steps("decay", 2), steps("total", 4)}), {1, 1, 1, 0.5}},
      {Value::call("sequential",
                   {{"parts",
                     Value::list({Value::tuple({flat, Value::steps(2)}), Value::tuple({falls, Value::steps(2)})}),
                     "",
                     {}}}),
       {1, 1, 1, 0.5}},
      {Value::call("chain", {{"a", rises, "", {}}, {"b", falls, "", {}}}), {0.5, 0.5, 0.25, 0.125}},
  };
  for (const auto& [call, rates] : rows) {
    CAPTURE(call.text);
    const auto schedule = optim::make_schedule(call, {});
    for (size_t t = 0; t < rates.size(); t++) CHECK(schedule->rate(int64_t(t), 1) == doctest::Approx(rates[t]));
  }
}

TEST_CASE("Lion, Lamb and Lars follow their formulas") {
  for (const char* name : {"Lion", "Lamb", "Lars"}) {
    CAPTURE(name);
    const Value rule = Value::call(name, {{"lr", 0.01, "", {}}, {"weight_decay", 0.1, "", {}}});
    Problem problem(rule);
    at::Tensor w = at::sin(at::arange(12, at::kDouble)).reshape({3, 4});
    at::Tensor m = at::zeros_like(w), v = at::zeros_like(w);
    const NoGrad no_grad;
    for (int64_t t = 0; t < 50; t++) {
      const at::Tensor g = w / 2 + at::cos(0.1 * double(t) + 0.3 * at::arange(12, at::kDouble)).reshape({3, 4});
      const Str rule_name = name;
      if (rule_name == "Lion") {
        const at::Tensor u = at::sign(0.9 * m + 0.1 * g);
        w = w - 0.01 * (u + 0.1 * w);
        m = 0.99 * m + 0.01 * g;
      } else if (rule_name == "Lamb") {
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        const at::Tensor r =
            m / (1 - std::pow(0.9, t + 1)) / (at::sqrt(v / (1 - std::pow(0.999, t + 1))) + 1e-6) + 0.1 * w;
        w = w - 0.01 * (w.norm() / r.norm()) * r;
      } else {
        const at::Tensor ratio = 1e-3 * w.norm() / (g.norm() + 0.1 * w.norm() + 1e-8);
        m = 0.9 * m + ratio * (g + 0.1 * w);
        w = w - 0.01 * m;
      }
      problem.set_grads(t);
      problem.optimizer->step(t);
    }
    CHECK(at::allclose(In(problem.weights[0].tensor), w, 1e-10, 1e-12));
  }
}

TEST_CASE("groups: the first match wins, and one without match is an error") {
  ModelRoot root(0);
  const Tensor w = root.scope().child("norm1").weight("weight", give(at::ones({3}, at::kDouble)), {});
  const Tensor v = root.scope().child("fc").weight("weight", give(at::ones({3, 3}, at::kDouble)), {});
  const Value rule = Value::call("SGD", {{"lr", 0.1, "", {}}});
  Optimizer* optimizer =
      root.scope().optimizer("opt", rule, root.scope().weights(), {},
                             {{"*norm*", {{"lr", 0.5, "", {}}}, {}}, {"@1d", {{"lr", 9.0, "", {}}}, {}}}, {});
  CHECK_THROWS_AS(root.finish(), Error);

  ModelRoot good(0);
  const Tensor a = good.scope().child("norm1").weight("weight", give(at::ones({3}, at::kDouble)), {});
  const Tensor b = good.scope().child("fc").weight("weight", give(at::ones({3, 3}, at::kDouble)), {});
  optimizer =
      good.scope().optimizer("opt", rule, good.scope().weights(), {}, {{"*norm*", {{"lr", 0.5, "", {}}}, {}}}, {});
  good.finish();
  const NoGrad no_grad;
  In(a)->mutable_grad() = at::ones({3}, at::kDouble);
  In(b)->mutable_grad() = at::ones({3, 3}, at::kDouble);
  optimizer->step(0);
  CHECK(In(a)->select(0, 0).item<double>() == doctest::Approx(0.5));
  CHECK(In(b)->select(0, 0).select(0, 0).item<double>() == doctest::Approx(0.9));
}

}  // namespace ltr
