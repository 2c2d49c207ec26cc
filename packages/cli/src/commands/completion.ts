import type { Run } from '../command.ts';
import { usageFailure } from '../failure.ts';

/** Each asks `cadiz __complete` what the word at the cursor can become; `:files` stands for files of this machine. */
const scripts: Record<string, string> = {
  bash: `_cadiz() {
  local words=() word line prefix quote i apostrophe="'\\\\''"
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # Bash splits words at colons and equals signs, unless they are quoted.
    if ((\${#words[@]} > 0)) && [[ $word == [:=] || \${COMP_WORDS[i - 1]} == [:=] ]]; then
      words[\${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
  done
  word=\${words[\${#words[@]}-1]}
  case $word in
    [\\"\\']*) quote=\${word:0:1} word=\${word:1} prefix= ;;
    *) quote= word=\${word//\\\\/} prefix=\${word%"\${word##*[:=]}"} ;;
  esac
  words[\${#words[@]}-1]=$word
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default; COMPREPLY=(); return ;;
      */) compopt -o nospace ;;
    esac
    line=\${line#"$prefix"}
    case $quote in
      \\") line=\${line//\\\\/\\\\\\\\} line=\${line//\\$/\\\\\\$} line=\${line//\\\`/\\\\\\\`} line=\${line//\\"/\\\\\\"} ;;
      \\') line=\${line//\\'/$apostrophe} ;;
      *) printf -v line %q "$line" ;;
    esac
    COMPREPLY+=("$line")
  done < <(cadiz __complete "\${words[@]}" 2>/dev/null)
}
complete -F _cadiz cadiz
`,
  zsh: `#compdef cadiz
_cadiz() {
  local -a lines folders others
  local line
  lines=("\${(@f)$(cadiz __complete "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  if [[ "$lines[1]" == ":files" ]]; then _files; return; fi
  for line in $lines; do
    if [[ "$line" == */ ]]; then folders+=("$line"); elif [[ -n "$line" ]]; then others+=("$line"); fi
  done
  compadd -S '' -a folders
  compadd -a others
}
if [[ "$funcstack[1]" == "_cadiz" ]]; then _cadiz "$@"; else compdef _cadiz cadiz; fi
`,
  fish: `function __cadiz_complete
  set -l last (commandline -ct)
  switch "$last"
    case '"*' "'*"
      set last (string sub -s 2 -- $last)
    case '*'
      set last (string unescape -- $last)
  end
  set -l words (commandline -opc) "$last"
  set -l lines (cadiz __complete $words[2..-1] 2>/dev/null)
  if test "$lines[1]" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines
  end
end
complete -c cadiz -f -a '(__cadiz_complete)'
`,
};

export const run: Run<'completion'> = async ({ output }, { args: [shell = ''] }) => {
  const script = scripts[shell];
  if (!script) throw usageFailure(`${shell} must be one of ${Object.keys(scripts).join(', ')}.`);
  output.print({ shell, script }, script);
};
