autocmd BufRead,BufNewFile *.ltr setfiletype ltr
