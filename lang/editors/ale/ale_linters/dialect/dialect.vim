" For ALE: a linter for scripts, which reads what "dialect check --lsp-lite" prints. Put the folder
" above ale_linters into the runtime path: set runtimepath+=.../lang/editors/ale

call ale#Set('dialect_executable', 'dialect')

function! ale_linters#dialect#dialect#Command(buffer) abort
  return '%e check --lsp-lite --stdin-filename %s -'
endfunction

function! ale_linters#dialect#dialect#Handle(buffer, lines) abort
  let l:uri = 'file://' . expand('#' . a:buffer . ':p')
  let l:out = []
  for l:line in a:lines
    if l:line !~# '^{'
      continue
    endif
    let l:file = json_decode(l:line)
    " One object a file: that of the buffer, and those of its matrix.
    if l:file.uri !=# l:uri && l:file.uri !~# '/' . expand('#' . a:buffer . ':t') . '$'
      continue
    endif
    for l:d in l:file.diagnostics
      call add(l:out, {
      \   'lnum': l:d.range.start.line + 1,
      \   'col': l:d.range.start.character + 1,
      \   'end_lnum': l:d.range.end.line + 1,
      \   'end_col': l:d.range.end.character,
      \   'type': get({'1': 'E', '2': 'W'}, string(l:d.severity), 'I'),
      \   'code': l:d.code,
      \   'text': split(l:d.message, "\n")[0],
      \   'detail': l:d.message,
      \})
    endfor
  endfor
  return l:out
endfunction

call ale#linter#Define('dialect', {
\   'name': 'dialect',
\   'executable': {buffer -> ale#Var(buffer, 'dialect_executable')},
\   'command': function('ale_linters#dialect#dialect#Command'),
\   'callback': 'ale_linters#dialect#dialect#Handle',
\})
