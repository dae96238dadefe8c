if exists('b:did_indent')
  finish
endif
let b:did_indent = 1

setlocal indentexpr=LtrIndent()
setlocal indentkeys=0{,0},0),0],!^F,o,O,0=\|>
setlocal autoindent
let b:undo_indent = 'setlocal indentexpr< indentkeys< autoindent<'

if exists('*LtrIndent')
  finish
endif

" A line without its comment, and with its strings emptied, so that their brackets do not count.
function! s:Code(number)
  return substitute(substitute(getline(a:number), '"\%(\\.\|[^"\\]\)*"', '""', 'g'), '#.*$', '', '')
endfunction

function! LtrIndent()
  let above = prevnonblank(v:lnum - 1)
  if above == 0
    return 0
  endif
  let code = s:Code(above)
  let indent = indent(above)
  if code =~# '[{([]\s*$'
    let indent += shiftwidth()
  elseif getline(v:lnum) =~# '^\s*|>' && code !~# '^\s*|>'
    let indent += shiftwidth()
  elseif code =~# '^\s*|>' && getline(v:lnum) !~# '^\s*|>'
    let indent -= shiftwidth()
  endif
  if getline(v:lnum) =~# '^\s*[])}]'
    let indent -= shiftwidth()
  endif
  return max([indent, 0])
endfunction
