-- A session of an editor, without its screen: open a script with an unbound verb, see the
-- diagnostic, take the code action, see it gone; then the same with a binding that is missing,
-- which the server creates in the matrix. The transcript goes to standard output; the exit
-- status says whether all came as it should.
--
--   nvim --headless -u NONE -i NONE -n -c 'luafile session.lua' -c 'cquit 3'
--
-- $DIALECT is the program, $DIALECT_EDITORS the folder of this plugin; the working directory is
-- a project with a routing.toml that binds "test go".

local function say(...)
  io.stdout:write(string.format(...) .. "\n")
end

local function check(ok, what)
  if not ok then
    say("FAILED: %s", what)
    vim.cmd("cquit 1")
  end
end

local function wait(what, is)
  check(vim.wait(20000, is, 20), "waited in vain for " .. what)
end

vim.opt.runtimepath:prepend(os.getenv("DIALECT_EDITORS"))
vim.cmd("filetype plugin on | syntax on")
require("dialect").setup({ cmd = { os.getenv("DIALECT"), "lsp" } })

local function diagnostics(buffer)
  local list = vim.diagnostic.get(buffer)
  for _, d in ipairs(list) do
    say("  %d:%d %s: %s [%s]", d.lnum + 1, d.col + 1, ({ "error", "warning" })[d.severity], d.message:match("^[^\n]*"), d.code or d.user_data.lsp.code)
  end
  if #list == 0 then
    say("  none")
  end
  return list
end

local function actions(line)
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(0),
    range = { start = { line = line, character = 0 }, ["end"] = { line = line, character = 0 } },
    context = { diagnostics = {} },
  }
  local answers, err = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 10000)
  check(answers and not err, "no answer to codeAction: " .. tostring(err))
  local list = {}
  for _, answer in pairs(answers) do
    vim.list_extend(list, answer.result or {})
  end
  for _, action in ipairs(list) do
    say("  * %s", action.title)
  end
  return list
end

say(":edit quality.dlct")
vim.cmd("edit quality.dlct")
local script = vim.api.nvim_get_current_buf()
check(vim.bo.filetype == "dialect", "the file type is " .. vim.bo.filetype)
wait("the diagnostic", function() return #vim.diagnostic.get(script) == 1 end)
say("diagnostics:")
diagnostics(script)

say("code actions on line 1:")
local list = actions(0)
check(#list == 1, "one action was to come")
say("taken: %s", list[1].title)
vim.lsp.util.apply_workspace_edit(list[1].edit, "utf-16")
wait("the diagnostic to go", function() return #vim.diagnostic.get(script) == 0 end)
say("line 1 is now: %s", vim.api.nvim_buf_get_lines(script, 0, 1, true)[1])
say("diagnostics:")
diagnostics(script)

say("line 2 is written: Deploy to staging")
vim.api.nvim_buf_set_lines(script, 1, 1, true, { "Deploy to staging" })
wait("two diagnostics", function() return #vim.diagnostic.get(script) == 2 end)
diagnostics(script)
say("code actions on line 2:")
list = actions(1)
local bind
for _, action in ipairs(list) do
  if action.title:match("^Bind ") then
    bind = action
  end
end
check(bind, "no action that binds it")
say("taken: %s", bind.title)
vim.lsp.util.apply_workspace_edit(bind.edit, "utf-16")
wait("the diagnostics to go", function() return #vim.diagnostic.get(script) == 0 end)
local matrix = vim.fn.bufnr("routing.toml")
check(matrix > 0, "the matrix was not opened")
say("routing.toml, the last four lines:")
for _, text in ipairs(vim.api.nvim_buf_get_lines(matrix, -5, -1, true)) do
  say("  %s", text)
end
say("diagnostics:")
diagnostics(script)

say("hover over line 1:")
local answers = vim.lsp.buf_request_sync(script, "textDocument/hover", {
  textDocument = { uri = vim.uri_from_bufnr(script) }, position = { line = 0, character = 2 },
}, 10000)
for _, answer in pairs(answers or {}) do
  check(answer.result, "no hover")
  local text = answer.result.contents.value
  check(text:find("go vet ./...", 1, true), "the hover does not say what runs: " .. text)
  say("  %s", text:match("```sh\n(.-)\n```"))
end

say(":lua vim.lsp.buf.formatting_sync()")
vim.api.nvim_buf_set_lines(script, 0, 1, true, { "- test  WITH go." })
vim.lsp.buf.formatting_sync(nil, 10000)
local first = vim.api.nvim_buf_get_lines(script, 0, 1, true)[1]
say("line 1 is now: %s", first)
check(first == "Test with go", "it was not formatted")

vim.lsp.stop_client(vim.lsp.get_active_clients())
say("done")
vim.cmd("qall!")
