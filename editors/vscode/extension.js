// Starts `ltrc lsp`, and runs what tasks and code lenses ask for. Without the package
// vscode-languageclient the rest still works: colours, snippets, tasks, lenses' commands.
const vscode = require("vscode");

let client;

const compiler = () => vscode.workspace.getConfiguration("ltr").get("compiler", "ltrc");

function languageClient() {
  try {
    return require("vscode-languageclient/node");
  } catch {
    return undefined;
  }
}

async function start() {
  const library = languageClient();
  if (!library) return;
  client = new library.LanguageClient(
    "ltr",
    "Ltr",
    { command: compiler(), args: ["lsp"] },
    {
      documentSelector: [{ language: "ltr" }],
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.ltr") },
    }
  );
  await client.start().catch((error) => vscode.window.showErrorMessage(`${compiler()} lsp: ${error.message}`));
}

function task(name, words) {
  const execution = new vscode.ProcessExecution(compiler(), words);
  const made = new vscode.Task({ type: "ltr", command: words[0] }, vscode.TaskScope.Workspace, name, "ltr", execution, "$ltrc");
  made.presentationOptions = { clear: true };
  return made;
}

/// The words of a task: `check --message-format=short FILE ARGS`, which the problem matcher reads.
function words({ command, file, args }) {
  const format = command === "run" ? [] : ["--message-format=short"];
  return [command, ...format, file || "${file}", ...(args || [])];
}

function activate(context) {
  const run = (name, list) => vscode.tasks.executeTask(task(name, list));
  context.subscriptions.push(
    vscode.tasks.registerTaskProvider("ltr", {
      provideTasks: () => ["check", "test", "build"].map((command) => task(command, words({ command }))),
      resolveTask: ({ definition }) => {
        const made = task(definition.command, words(definition));
        made.definition = definition;
        return made;
      },
    }),
    vscode.commands.registerCommand("ltr.check", () => run("check", words({ command: "check" }))),
    vscode.commands.registerCommand("ltr.test", (file, title) => run(title, ["test", file, "--filter", title])),
    vscode.commands.registerCommand("ltr.run", (file, verb, experiment) => run(verb, ["run", file, verb, experiment])),
    vscode.commands.registerCommand("ltr.restart", () => (client ? client.restart() : start()))
  );
  return start();
}

const deactivate = () => client?.stop();

module.exports = { activate, deactivate };
