#include "ltrc/tools.h"

namespace ltr::driver {

CLI::App* Tools::add(CLI::App& app, Common& common, const std::string& name, const std::string& help,
                     std::function<int()> run) {
  CLI::App* command = app.add_subcommand(name, help);
  add_common(*command, common);
  run_[name] = std::move(run);
  return command;
}

void Tools::add_to(CLI::App& app, Common& common) {
  CLI::App* fmt = add(app, common, "fmt", "write programs in the canonical layout",
                      [this, &common] { return run_fmt(fmt_, common); });
  fmt->add_option("PLACE", fmt_.places, "files, folders, - for stdin (default: this folder)");
  fmt->add_flag("--check", fmt_.check, "write nothing, name the files that would change, exit 1");
  fmt->add_flag("--stdout", fmt_.to_stdout, "print instead of writing");

  CLI::App* doc = add(app, common, "doc", "what a name of the library or of a program means",
                      [this, &common] { return run_doc(doc_, common); });
  doc->add_option("WORDS", doc_.words, "a name of the library; or a file, folder or std, and a name")->expected(1, 2);
  CLI::Option* html = doc->add_option("--html", doc_.html, "write a static site to this folder");
  doc->add_option("--markdown", doc_.markdown, "write Markdown pages to this folder")->excludes(html);

  CLI::App* migrate = add(app, common, "migrate", "rewrite programs for a later edition",
                          [this, &common] { return run_migrate(migrate_, common); });
  migrate->add_option("FILE", migrate_.files, "programs, or folders of them")->required();
  migrate->add_option("--to", migrate_.to, "the edition")->required();
  migrate->add_flag("--check", migrate_.check, "write nothing, say what would change, exit 1");

  CLI::App* lsp = add(app, common, "lsp", "answer an editor: the language server, on stdin and stdout",
                      [&common] { return run_lsp(common); });
  lsp->add_flag("--stdio")->description("the only way there is; editors name it");

  CLI::App* plan = add(app, common, "plan", "weights, memory and work of an experiment",
                       [this, &common] { return run_plan(plan_, common); });
  plan->add_option("FILE", plan_.file, "the program")->required();
  plan->add_option("EXPERIMENT", plan_.experiment, "which one (default: the first)");
  plan->add_option("--topology", plan_.topology, "in place of the experiment's");
  plan->add_option("--devices", plan_.devices, "in place of the topology's: cpu[4], cuda[8]");
  plan->add_option("--set", plan_.sets, "NAME=VALUE: another value of an hparam")->expected(1, -1);
  CLI::Option* machine = plan->add_option(
      "--machine", plan_.machine,
      "what times are predicted for: cpu, a100, h100, v100, p100, or a plan that --measure --json wrote");
  plan->add_option("--backend", plan_.backend, "of the run: auto, native or torch")
      ->check(CLI::IsMember({"auto", "native", "torch"}));
  plan->add_flag("--measure", plan_.measure, "measure this machine, and predict for it")->excludes(machine);
  plan->add_flag("--json", plan_.json, "for programs");

  CLI::App* data = add(app, common, "data", "fetch data and weights that others publish, and check their sums",
                       [this, &common] { return run_data(data_, common); });
  data->add_option("VERB", data_.verb, "list, get or check")
      ->required()
      ->check(CLI::IsMember({"list", "get", "check"}));
  data->add_option("NAME", data_.names, "entries of the catalogue (list, check: all of them)")->expected(0, -1);
  data->add_option("--to", data_.to, "folder, in place of $LTR_DATA_DIR/NAME or data/NAME");
  data->add_option("--from", data_.from, "folder or address that has the files, in place of the mirrors");
  data->add_option("--catalog", data_.catalog,
                   "a JSON file with entries of your own, as `ltr.toml` names one for a project");
  data->add_flag("--offline", data_.offline, "ask no mirror");

  CLI::App* diff = add(app, common, "diff", "do two programs compute the same, and what differs",
                       [this, &common] { return run_diff(diff_, common); });
  diff->add_option("SIDES", diff_.sides, "two of: FILE, FILE@REVISION, run folder; or BASE..HEAD [FILES]")->required();
  CLI::Option* markdown = diff->add_flag("--markdown", diff_.markdown, "for a review comment");
  diff->add_flag("--json", diff_.json, "for programs")->excludes(markdown);

  CLI::App* compare = add(app, common, "compare", "what runs came to, and in which settings they differ",
                          [this] { return run_compare(compare_); });
  compare->add_option("RUN", compare_.runs, "folders of runs, such as runs/mnist/0007")->required()->expected(2, -1);
  compare->add_option("--html", compare_.html, "write a page with their curves in one picture to this file");
  compare->add_flag("--json", compare_.json, "for programs");

  CLI::App* sync = add(app, common, "sync", "send what the servers of a run's loggers do not have yet",
                       [this] { return run_sync(sync_); });
  sync->add_option("RUN", sync_.run, "its folder, such as runs/mnist/0007")->required()->check(CLI::ExistingDirectory);

  CLI::App* ui = add(app, common, "ui", "show the runs below a folder to a browser, live while they train",
                     [this] { return run_ui(ui_); });
  ui->add_option("FOLDER", ui_.folder, "of runs, as `--out` of programs (default: runs)");
  ui->add_option("--port", ui_.port, "where it listens (default: 8265); 0 is a free port")->check(CLI::Range(0, 65535));
  ui->add_option("--host", ui_.host,
                 "address that it listens on (default: 127.0.0.1, which only this machine reaches)");
}

}  // namespace ltr::driver
