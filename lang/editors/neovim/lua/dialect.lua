-- The language server for scripts and their matrix, in Neovim 0.7 and later without a plugin.
--
--   require("dialect").setup()
--   require("dialect").setup({ cmd = { "/opt/bin/dialect", "lsp" }, on_attach = my_keys })
--
-- What is given goes to vim.lsp.start_client as it is.

local M = {}

-- Clients by the folder of the project: one server serves all its buffers.
local clients = {}

-- root is the folder of the nearest matrix, or of the repository, above a file.
local function root(path)
  local function has(dir, name)
    return vim.loop.fs_stat(dir .. "/" .. name) ~= nil
  end
  local dir, repository = vim.fn.fnamemodify(path, ":p:h"), nil
  local first = dir
  while true do
    if has(dir, "routing.toml") then
      return dir
    end
    if repository == nil and has(dir, ".git") then
      repository = dir
    end
    local parent = vim.fn.fnamemodify(dir, ":h")
    if parent == dir then
      return repository or first
    end
    dir = parent
  end
end

local function attach(options, buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local dir = root(name ~= "" and name or vim.loop.cwd() .. "/x")
  local id = clients[dir]
  if not id or not vim.lsp.get_client_by_id(id) then
    local config = vim.tbl_extend("force", {
      name = "dialect",
      cmd = { "dialect", "lsp" },
      root_dir = dir,
      workspace_folders = { { uri = vim.uri_from_fname(dir), name = dir } },
    }, options)
    id = vim.lsp.start_client(config)
    clients[dir] = id
  end
  if id then
    vim.lsp.buf_attach_client(buffer, id)
  end
end

function M.setup(options)
  options = options or {}
  local group = vim.api.nvim_create_augroup("dialect", { clear = true })
  vim.api.nvim_create_autocmd("FileType", {
    group = group,
    pattern = { "dialect", "toml" },
    callback = function(args)
      if args.match == "toml" and vim.fn.fnamemodify(args.file, ":t") ~= "routing.toml" then
        return
      end
      attach(options, args.buf)
    end,
  })
end

return M
