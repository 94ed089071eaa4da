autocmd BufRead,BufNewFile *.dlct setfiletype dialect
