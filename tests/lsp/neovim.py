"""A real editor: headless neovim with the files of editors/vim starts `ltrc lsp`, shows a diagnostic, hovers, completes
and formats.

    neovim.py SOURCE_DIR LTRC

Exits with 77 where neovim is not installed.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCRIPT = """
local done = {}
local function fail(text) done.failure = text end
local function session()
vim.opt.runtimepath:prepend(os.getenv('LTR_EDITORS'))
vim.cmd('filetype plugin indent on | syntax on')
vim.cmd('edit ' .. os.getenv('LTR_PROGRAM'))
done.filetype = vim.bo.filetype
local config = { name = 'ltr', cmd = { os.getenv('LTRC'), 'lsp' }, root_dir = vim.fn.getcwd() }
if vim.lsp.start then
  vim.lsp.start(config)
else -- before 0.8
  vim.lsp.buf_attach_client(0, vim.lsp.start_client(config))
end
local function format()
  if vim.lsp.buf.format then vim.lsp.buf.format({ timeout_ms = 20000 }) else vim.lsp.buf.formatting_sync({}, 20000) end
end
local function is_attached()
  for _, client in pairs(vim.lsp.buf_get_clients(0)) do
    if client.initialized then return true end
  end
end
local function ask(method, extra)
  local params = vim.tbl_extend('force', vim.lsp.util.make_position_params(), extra or {})
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, params, 20000) or {}) do
    if answer.error then fail(method .. ': ' .. answer.error.message) end
    return answer.result
  end
end
if not vim.wait(20000, is_attached) then fail('no client') end
vim.fn.search('minimize loss')
vim.cmd('normal! A_misspelt')
if not vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end) then fail('no diagnostic') end
done.diagnostics = vim.tbl_map(function(one) return { one.code, one.lnum, one.message } end, vim.diagnostic.get(0))
vim.cmd('undo')
if not vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end) then fail('the diagnostic stays') end
vim.fn.search('logits = net')
done.hover = ask('textDocument/hover').contents.value
vim.fn.search('minimize loss')
vim.cmd('normal! Onet.')
vim.cmd('normal! $')
local place = vim.lsp.util.make_position_params()
place.position.character = place.position.character + 1
done.completion = vim.tbl_map(function(one) return one.label end, ask('textDocument/completion', place).items)
vim.cmd('undo')
local whole = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')
vim.fn.search('minimize loss')
vim.cmd('normal! 0i      ')
format()
done.formatted = whole == table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')
end
local is_well, trouble = pcall(session)
if not is_well then fail(trouble) end
vim.fn.writefile({ vim.fn.json_encode(done) }, os.getenv('LTR_DONE'))
vim.cmd('qall!')
"""


def main(source, ltrc):
    source, nvim = pathlib.Path(source).resolve(), shutil.which("nvim")
    if nvim is None:
        print("skipped: neovim is not installed (Debian: neovim)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        program, script, done = folder / "mnist.ltr", folder / "client.lua", folder / "done.json"
        program.write_text((source / "examples/mnist.ltr").read_text())
        script.write_text(SCRIPT)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LTR_EDITORS": str(source / "editors/vim"),
                       "LTR_PROGRAM": str(program), "LTRC": str(pathlib.Path(ltrc).resolve()), "LTR_DONE": str(done)}
        ran = subprocess.run([nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", str(script)], cwd=folder,
                             env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if not done.exists():
            print("neovim wrote nothing:\n" + ran.stderr)
            return 1
        found = json.loads(done.read_text())
    print(json.dumps(found, indent=1))
    is_right = ("failure" not in found and found["filetype"] == "ltr" and found["diagnostics"][0][0] == "E0301"
                and "logits: float[B, classes]" in found["hover"] and "conv1" in found["completion"]
                and found["formatted"])
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
