#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "runtime/api/suggest.h"
#include "runtime/cli/faults.h"
#include "runtime/cli/options.h"
#include "runtime/cli/settings.h"
#include "runtime/cli/terminal.h"
#include "runtime/settings/value_text.h"

namespace ltr::cli {

namespace {

Str parsed(const Str& text, const Str& type) {
  Str wanted;
  const Option<Value> value = parse_value(text, type, wanted);
  return value ? value->to_text() : "not " + wanted;
}

const HparamInfo kWidth = {"width", "int", "Channels.", "width % 8 == 0", {"mnist.ltr", 6, 1}};
bool fits_width(int64_t width) { return width % 8 == 0; }

}  // namespace

TEST_CASE("values of the command line by type") {
  CHECK(parsed("5", "int") == "5");
  CHECK(parsed("1e3", "int") == "1000");
  CHECK(parsed("1.5", "int") == "not a whole number");
  CHECK(parsed("3e-4", "float") == "0.0003");
  CHECK(parsed("7", "float") == "7.0");
  CHECK(parsed("abc", "float") == "not a finite number");
  CHECK(parsed("true", "bool") == "true");
  CHECK(parsed("1", "bool") == "not true or false");
  CHECK(parsed("a path.csv", "path") == "\"a path.csv\"");
  CHECK(parsed("200 steps", "period") == "200 steps");
  CHECK(parsed("0.25 epochs", "period") == "0.25 epochs");
  CHECK(parsed("5epochs", "period") == "5 epochs");
  CHECK(parsed("90 s", "duration") == "90 s");
  CHECK(parsed("2 min", "duration") == "120 s");
  CHECK(parsed("4 GiB", "bytes") == "4 GiB");
  CHECK(parsed("1536 MiB", "bytes") == "1536 MiB");
  CHECK(parsed("1000 B", "bytes") == "1000 B");
  CHECK(parsed("4096", "bytes") == "not a size with its unit, such as 4 GiB");
  CHECK(parsed("none", "option[int]") == "none");
  CHECK(parsed("max", "one_of[auto, min, max]") == "max");
  CHECK(parsed("maximum", "one_of[auto, min, max]") == "not auto, min or max");
  CHECK(parsed("val.loss", "series") == "val.loss");
  CHECK(parsed("[1, 2.5]", "list[float]") == "[1.0, 2.5]");
  CHECK(parsed("[1, 2.5, \"x\"]", "list[float]") == "not list[float]");
  CHECK(parsed("[a, \"b c\"]", "list[str]") == "[\"a\", \"b c\"]");
  CHECK(parsed("[[1], [2, 3]]", "list[list[int]]") == "[[1], [2, 3]]");
  CHECK(parsed("(3, [1])", "(float, list[int])") == "(3.0, [1])");
  CHECK(parsed("(3, 1, 1)", "(float, int)") == "not (float, int)");
  CHECK(parsed("cosine(warmup = 20 steps, final = 0.1)", "schedule") == "cosine(warmup = 20 steps, final = 0.1)");
  CHECK(parsed("cuda[8]", "") == "cuda[8]");
  CHECK(parsed("cuda[8]", "devices") == "cuda[8]");
  CHECK(parsed("auto", "devices") == "auto");
  CHECK(parsed("cuda[0]", "devices") == "not auto, cpu, cpu[4], cuda or cuda[8]");
  CHECK(parsed("all", "int or all") == "all");
  CHECK(parsed("3", "int or all") == "3");
  CHECK(parsed("every", "int or all") == "not a whole number or all");
  CHECK(parsed("0.5", "float or period") == "0.5");
  CHECK(parsed("2 epochs", "float or period") == "2 epochs");
  CHECK(parsed("8 MiB", "auto_or_bytes") == "8 MiB");
  CHECK(parsed("auto", "auto_or_bytes") == "auto");
  CHECK(parsed("8 s", "auto_or_bytes") == "not auto or a size with its unit, such as 25 MiB");
  CHECK(parsed("5", "auto_or_bytes") == "not auto or a size with its unit, such as 25 MiB");
  CHECK(parsed("none", "option[one_of[single, ddp]]") == "none");
  CHECK(parsed("[]", "list[str]") == "[]");
  CHECK(parsed("Layer", "list[str]") == "not a list such as [\"Layer\"]");
  CHECK(parsed("5", "list[str]") == "not list[str]");
  CHECK(parsed("10%", "limit") == "fraction(x = 0.1)");
  CHECK(parsed("50", "limit") == "50");
  CHECK(parsed("1.0", "limit") == "not 1 or 100%");
  CHECK(parsed("0.1", "limit") == "not 10%");
  CHECK(parsed("(1", "") == "not a value as in .ltr");
}

TEST_CASE("texts of a list read back as they are shown") {
  Value list;
  list.kind = Value::Kind::List;
  const Str texts[] = {"two\nlines", "a\tb", "say \"hi\" \\ {x}", ""};
  for (const Str& text : texts) list.items.push_back({"", Value(text), "", {}});
  Str wanted;
  const Option<Value> again = parse_value(show(list), "list[str]", wanted);
  REQUIRE(again.has_value());
  for (size_t i = 0; i < std::size(texts); ++i) CHECK(again->items[i].value.text == texts[i]);
}

TEST_CASE("the origin of a value: default, experiment, file, environment, flag") {
  RunSettings settings;
  settings.give("lr", {"0.5", "file", "c.json", "lr"});
  settings.give("lr", {"0.25", "env", "LTR_ARGS", "--lr"});
  settings.give("hidden", {"12", "flag", "--hidden 12", "--hidden"});
  const Value lr = settings.hparam({"lr", "float", "", "", {"a.ltr", 1, 1}}, 0.1, nullptr);
  settings.hparam({"hidden", "int", "", "", {"a.ltr", 2, 1}}, 16, nullptr);
  const Value set = 3;
  settings.hparam({"depth", "int", "", "", {"a.ltr", 3, 1}}, 2, &set);
  settings.hparam({"seed", "int", "", "", {"a.ltr", 4, 1}}, 0, nullptr);
  settings.get("trainer.epochs", "int", 5, {"a.ltr", 9, 3});
  settings.add_defaults();
  CHECK(lr.as_float() == 0.25);
  CHECK(settings.value("trainer.epochs").as_int() == 5);
  CHECK(settings.value("trainer.log_every").as_int() == 10);
  const Str origins[] = {"env", "flag", "experiment", "default", "experiment"};
  for (size_t i = 0; i < std::size(origins); ++i) CHECK(settings.resolved()[i].from == origins[i]);
  CHECK(settings.to_json().find("\"lr\": {\"value\": 0.25, \"from\": \"env\", \"at\": \"LTR_ARGS\"}") != Str::npos);
  CHECK(settings.faults.empty());
}

TEST_CASE("a broken rule names the nearest allowed values and shows the line") {
  RunSettings settings;
  settings.give("width", {"30", "flag", "--width 30", "--width"});
  const Value width = settings.hparam(kWidth, 32, nullptr);
  settings.check_hparam("width", fits_width(width.whole), fits_width);
  REQUIRE(settings.faults.size() == 1);
  Program program{};
  program.sources = {{"mnist.ltr", "ltr 1\n\n\n\n\nhparam width: int = 32 where width % 8 == 0\n"}};
  CHECK(render(settings.faults[0], program) ==
        "error[R2004]: --width 30 does not satisfy `width % 8 == 0`\n"
        "  --> mnist.ltr:6:1\n"
        "6 | hparam width: int = 32 where width % 8 == 0\n"
        "  = help: the nearest allowed values are 24 and 32\n");
}

TEST_CASE("what rests on a value that breaks its rule is no second fault") {
  RunSettings settings;
  settings.give("width", {"30", "flag", "--width 30", "--width"});
  const Value width = settings.hparam(kWidth, 32, nullptr);
  settings.check_hparam("width", fits_width(width.whole), fits_width);
  settings.oblige(false, "width % 4 == 0", {"width"}, {"a.ltr", 2, 2}, {});
  settings.oblige(false, "D % heads == 0", {}, {"a.ltr", 3, 2}, {});
  settings.oblige(false, "D % heads == 0", {}, {"a.ltr", 4, 2}, {});  // the same at another use
  REQUIRE(settings.faults.size() == 2);
  CHECK(settings.faults[0].code == "R2004");
  CHECK(settings.faults[1].message == "`D % heads == 0` does not hold");
}

TEST_CASE("a rule that is broken shows what it compares") {
  RunSettings settings;
  settings.hparam(kWidth, 32, nullptr);
  settings.oblige(false, "classes % width == 0", {"width"}, {"a.ltr", 2, 2}, {{"classes", 3}});
  settings.oblige(false, "share <= 1", {}, {"a.ltr", 3, 2}, {{"share", 1.5}});
  REQUIRE(settings.faults.size() == 2);
  CHECK(settings.faults[0].message == "`classes % width == 0` does not hold: width = 32, classes = 3");
  CHECK(settings.faults[1].message == "`share <= 1` does not hold: share = 1.5");
}

TEST_CASE("all faults are collected: wrong type, unknown setting, unmet obligation") {
  RunSettings settings;
  settings.give("width", {"wide", "flag", "--width wide", "--width"});
  settings.give("trainer.epoch", {"3", "flag", "--set", "trainer.epoch"});
  settings.hparam(kWidth, 32, nullptr);
  settings.check_hparam("width", false, fits_width);
  settings.get("trainer.epochs", "int", 5, {});
  settings.oblige(false, "D % heads == 0", {}, {"a.ltr", 2, 2}, {});
  settings.add_defaults();
  settings.check_unused(true);
  REQUIRE(settings.faults.size() == 3);
  CHECK(settings.faults[0].code == "R2003");
  CHECK(settings.faults[1].code == "R2007");
  CHECK(settings.faults[1].message == "`D % heads == 0` does not hold");
  CHECK(settings.faults[2].message.starts_with(
      "no setting trainer.epoch; did you mean trainer.epochs? (trainer has: accumulate, "));
}

TEST_CASE("calls: arguments replaced, the second of a name, switched off") {
  const auto listed = [](RunSettings& settings) {
    const Value stop = Value::call("EarlyStop", {{"patience", 3, "int", {}}, {"min_delta", 0.0, "float", {}}});
    const Value keep = Value::call("Checkpoint", {{"keep", 1, "int", {}}});
    settings.call("callbacks", stop);
    settings.call("callbacks", keep);
    settings.call("callbacks", keep);
    settings.check_unused(true);
    Str text;
    for (const Value& call : settings.callbacks()) text += call.to_text() + ";";
    return text;
  };
  RunSettings changed;
  changed.give("callbacks.EarlyStop.patience", {"9", "flag", "", ""});
  changed.give("callbacks.Checkpoint.1.keep", {"4", "flag", "", ""});
  CHECK(listed(changed) == "EarlyStop(patience = 9, min_delta = 0.0);Checkpoint(keep = 1);Checkpoint(keep = 4);");
  RunSettings off;
  off.give("callbacks.Checkpoint", {"off", "flag", "", ""});
  CHECK(listed(off) == "EarlyStop(patience = 3, min_delta = 0.0);");
  RunSettings wrong;
  wrong.give("callbacks.EarlyStop.patince", {"9", "flag", "", ""});
  listed(wrong);
  REQUIRE(wrong.faults.size() == 1);
  CHECK(wrong.faults[0].message.find("did you mean callbacks.EarlyStop.patience?") != Str::npos);
  RunSettings absent;
  absent.give("callbacks.Ema", {"off", "flag", "", ""});
  listed(absent);
  CHECK(absent.faults.size() == 1);
}

TEST_CASE("callbacks that are there by themselves") {
  const auto listed = [](RunSettings& settings) {
    settings.add_defaults();
    settings.call("callbacks", Value::call("EarlyStop", {{"patience", 3, "int", {}}}));
    settings.call("implied", Value::call("Checkpoint", {{"keep", 1, "int", {}}}));
    settings.call("implied",
                  Value::call("StopOnSignal", {{"requeue", Value::symbol("auto"), "one_of[auto, never]", {}}}));
    settings.check_unused(true);
    Str text;
    for (const Value& call : settings.callbacks()) text += call.to_text() + ";";
    return text;
  };
  RunSettings usual;
  CHECK(listed(usual) == "EarlyStop(patience = 3);Checkpoint(keep = 1);StopOnSignal(requeue = auto);");
  RunSettings set;
  set.give("callbacks.Checkpoint.keep", {"4", "flag", "", ""});
  set.give("callbacks.StopOnSignal.requeue", {"never", "flag", "", ""});
  CHECK(listed(set) == "EarlyStop(patience = 3);Checkpoint(keep = 4);StopOnSignal(requeue = never);");
  CHECK(set.faults.empty());
  RunSettings off;
  off.give("callbacks.StopOnSignal", {"off", "flag", "", ""});
  off.give("trainer.checkpoint", {"false", "flag", "", ""});
  CHECK(listed(off) == "EarlyStop(patience = 3);");
  CHECK(off.faults.empty());
}

TEST_CASE("numbers keep to their ranges, whoever gives them, and all that is given is read") {
  const auto fault_of = [](const Str& path, const Str& text) {
    RunSettings settings;
    settings.give(path, {text, "flag", "--set", path});
    settings.add_defaults();
    return settings.faults.empty() ? "" : settings.faults[0].message;
  };
  CHECK(fault_of("trainer.epochs", "99999999999999999999") ==
        "trainer.epochs is \"99999999999999999999\", but a whole number between -2^63 and 2^63 - 1 is wanted");
  CHECK(fault_of("trainer.val_every", "0 epochs") == "trainer.val_every 0 epochs does not satisfy `val_every > 0`");
  CHECK(fault_of("trainer.val_every", "0.5 steps") == "trainer.val_every 0.5 steps does not satisfy `val_every > 0`");
  CHECK(fault_of("trainer.val_every", "0.25 epochs").empty());
  CHECK(fault_of("trainer.max_time", "-1 s") == "trainer.max_time -1 s does not satisfy `max_time > 0`");
  CHECK(fault_of("trainer.nan_limit", "0") == "trainer.nan_limit 0 does not satisfy `nan_limit >= 1`");
  CHECK(fault_of("trainer.min_epochs", "-1") == "trainer.min_epochs -1 does not satisfy `min_epochs >= 0`");
  CHECK(fault_of("topology.threads", "0") == "topology.threads 0 does not satisfy `threads >= 1`");
  CHECK(fault_of("topology.threads", "many") == "topology.threads is \"many\", but auto or a number is wanted");
  CHECK(fault_of("topology.threads", "auto").empty());
  CHECK(fault_of("topology.mesh.fsdp", "0") == "topology.mesh.fsdp 0 does not satisfy `fsdp >= 1`");
  CHECK(fault_of("topology.bucket", "0 MiB") == "topology.bucket 0 B does not satisfy `bucket >= 1`");
  CHECK(fault_of("topology.precision.reduce", "f32") ==
        "topology.precision.reduce is \"f32\", but bf16 or f16 is wanted");

  RunSettings twice;
  twice.give("trainer.epochs", {"abc", "flag", "--set", "trainer.epochs"});
  twice.give("trainer.epochs", {"1", "flag", "--epochs 1", "--epochs"});
  CHECK(twice.get("trainer.epochs", "int", 5, {}).whole == 1);
  REQUIRE(twice.faults.size() == 1);
  CHECK(twice.faults[0].message == "trainer.epochs is \"abc\", but a whole number is wanted");

  RunSettings own;
  own.get("trainer.log_every", "int", 0, {});
  own.call("callbacks", Value::call("Checkpoint", {{"keep", 0, "int", {}}, {"every", Value::epochs(0), "period", {}}}));
  own.give("callbacks.Ema.0.decay", {"1", "flag", "", "callbacks.Ema.0.decay"});
  own.call("callbacks", Value::call("Ema", {{"decay", 0.5, "float", {}}}));
  REQUIRE(own.faults.size() == 4);
  CHECK(own.faults[3].message == "callbacks.Ema.0.decay 1 does not satisfy `decay < 1`");
}

TEST_CASE("a number that is not finite is no number") {
  for (const char* text : {"nan", "inf", "-inf", "1e400"}) {
    CHECK(parsed(text, "float") == "not a finite number");
    CHECK(parsed(text, "option[float]") == "not a finite number");
  }
  CHECK(parsed("1e400 epochs", "period").starts_with("not "));
}

TEST_CASE("a setting that an hparam fills keeps to the hparam's rule") {
  RunSettings settings;
  settings.give("model.width", {"30", "flag", "--set", "model.width"});
  settings.hparam(kWidth, 32, nullptr);
  const Value value = settings.get("model.width", "int", 32, {});
  settings.check_setting("model.width", "width", fits_width(value.whole));
  REQUIRE(settings.faults.size() == 1);
  CHECK(settings.faults[0].message == "model.width 30 does not satisfy `width % 8 == 0`");
}

TEST_CASE("options: hparams, suggestions, twice, values of flags, words") {
  std::vector<Error> faults;
  CommandLine line = parse_command_line(
      {"fit", "mnist", "--lr", "0.1", "--max-time=5 min", "--fast-dev-run", "--set", "a.b=1", "--set", "c=2"},
      "--epochs 3 --name 'two words'", {"lr", "hidden_size"}, faults);
  CHECK(faults.empty());
  CHECK(line.verb == "fit");
  CHECK(line.words == std::vector<Str>{"mnist"});
  CHECK(line.get("lr") == "0.1");
  CHECK(line.get("name") == "two words");
  CHECK(line.has("fast-dev-run"));
  CHECK(line.options[0].from == Str("env"));
  line = parse_command_line(
      {"fit", "--widht", "3", "--epochs", "1", "--epochs", "2", "--hidden-size", "4", "--locked", "--bare=1"}, "",
      {"width", "hidden_size"}, faults);
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].message == "no option --widht; did you mean --width?");
  CHECK(line.get("epochs") == "2");
  CHECK(std::ranges::count(line.options, Str("epochs"), &GivenOption::name) == 1);
  CHECK(faults[1].message == "--bare is given a value, but none is wanted");
  CHECK(line.get("hidden_size") == "4");
  faults.clear();
  parse_command_line({"test", "--epochs", "3"}, "", {}, faults);
  CHECK(faults.size() == 1);
}

TEST_CASE("words of LTR_ARGS are split as a shell does") {
  CHECK(split_words("a 'b c' \"d \\\" e\" f\\ g ''") == std::vector<Str>{"a", "b c", "d \" e", "f g", ""});
}

TEST_CASE("suggestions reach to distance 2") {
  CHECK(nearest("epohcs", {"epochs", "steps"}) == "epochs");
  CHECK(nearest("max_time", {"max-time"}) == "max-time");
  CHECK(nearest("xyz", {"epochs"}) == "");
  CHECK(nearest("trainer.max_steps", {"trainer.min_steps", "trainer.steps"}) == "trainer.steps");
  CHECK(nearest("max-epochs", {"epochs", "max-time"}) == "epochs");
  CHECK(nearest("nope", {"one", "many"}) == "");  // everything short is near everything short
}

TEST_CASE("a name that is only begun is the one that begins so") {
  CHECK(nearest("fast-dev", {"fast-dev-run", "find-lr"}) == "fast-dev-run");
  CHECK(nearest("fast_d", {"fast-dev-run", "find-lr"}) == "fast-dev-run");
  CHECK(nearest("limit", {"limit-train", "limit-val"}) == "");
  CHECK(nearest("fa", {"fast-dev-run"}) == "");
}

TEST_CASE("numbers for people") {
  CHECK(with_commas(421642) == "421,642");
  CHECK(with_commas(-1000) == "-1,000");
  CHECK(with_commas(7) == "7");
  CHECK(clock_text(8) == "0:08");
  CHECK(clock_text(3723) == "1:02:03");
  CHECK(short_number(0.0412345) == "0.04123");
  const std::vector<std::pair<Str, double>> values = {
      {"val/loss", 0.5}, {"val/acc/0", 1}, {"val/acc/2", 0.25}, {"val/f1/0", 0}};
  CHECK(scalars_text(values) == "  val/loss 0.5  val/acc [1 nan 0.25]  val/f1 [0]");
  std::vector<std::pair<Str, double>> many;
  for (int i = 0; i < 12; ++i) many.emplace_back("val/acc/" + std::to_string(i), i);
  CHECK(scalars_text(many) == "  val/acc [0 1 2 3 4 5 6 7 8 9 …]");
  CHECK(short_number(NAN) == "nan");
  CHECK(bytes_text(1677721.6) == "1.6 MiB");
}

}  // namespace ltr::cli
