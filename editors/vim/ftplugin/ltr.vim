if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal comments=:##,:#
setlocal commentstring=#\ %s
setlocal expandtab shiftwidth=2 softtabstop=2 textwidth=100
setlocal formatoptions-=t formatoptions+=croql
setlocal suffixesadd=.ltr
setlocal makeprg=ltrc\ check\ --message-format=short\ %:S
setlocal errorformat=%f:%l:%c:\ %trror[%m,%f:%l:%c:\ %tarning[%m
if executable('ltrc')
  setlocal formatprg=ltrc\ fmt\ -
endif

let b:undo_ftplugin = 'setlocal comments< commentstring< expandtab< shiftwidth< softtabstop< textwidth<'
      \ . ' formatoptions< suffixesadd< makeprg< errorformat< formatprg<'
