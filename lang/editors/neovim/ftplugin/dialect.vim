if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal comments=:# commentstring=#\ %s
" BD-12, ./src and gate-check are one word each.
setlocal iskeyword=@,48-57,_,-,.,/

let b:undo_ftplugin = 'setlocal comments< commentstring< iskeyword<'
