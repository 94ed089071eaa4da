if exists('b:current_syntax')
  finish
endif

syntax case ignore
syntax match dialectVerb /^\s*\%(\%([-*+•]\|\d\{1,4}[.)]\)\s\+\)\?\zs\a[0-9a-z_-]*/ nextgroup=dialectBareNoun skipwhite
syntax match dialectBareNoun /[^ \t"`#]\+\ze\%(\s\|$\)/ contained
syntax match dialectPreposition /\s\zs\%(across\|after\|against\|as\|at\|before\|between\|by\|for\|from\|into\|in\|of\|onto\|on\|over\|per\|through\|toward\|to\|under\|using\|via\|within\|without\|with\)\ze\%(\s\|$\)/ nextgroup=dialectNoun skipwhite
syntax match dialectNoun /[^ \t"`#]\+/ contained
syntax match dialectName /\s\zs[A-Za-z_][0-9A-Za-z_-]*\ze=/
syntax match dialectVariable /{[A-Za-z_][0-9A-Za-z_.-]*}/
syntax match dialectEscape /\\["\\nt]/ contained
syntax region dialectString start=/"/ skip=/\\./ end=/"/ oneline contains=dialectEscape,dialectVariable
syntax match dialectComment /\%(^\s*\|\s\)\zs#\%(\s.*\)\?$/
syntax match dialectComment /^\s*#.*$/
syntax match dialectFence /^\s*```.*$/

highlight default link dialectVerb Statement
highlight default link dialectPreposition Operator
highlight default link dialectNoun Type
highlight default link dialectBareNoun Type
highlight default link dialectName Identifier
highlight default link dialectVariable PreProc
highlight default link dialectEscape SpecialChar
highlight default link dialectString String
highlight default link dialectComment Comment
highlight default link dialectFence WarningMsg

let b:current_syntax = 'dialect'
