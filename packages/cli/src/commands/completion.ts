import type { Run } from '../command.ts';
import { usageFailure } from '../failure.ts';

/** Each asks `cadiz __complete` what the word at the cursor can become; `:files` stands for files of this machine. */
const scripts: Record<string, string> = {
  bash: `_cadiz() {
  local words=() word line prefix i
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # Bash splits words at colons.
    if ((\${#words[@]} > 0)) && [[ $word == : || \${COMP_WORDS[i - 1]} == : ]]; then
      words[\${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
  done
  word=\${words[\${#words[@]}-1]//\\\\/}
  words[\${#words[@]}-1]=$word
  prefix=\${word%"\${word##*:}"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default; COMPREPLY=(); return ;;
      */) compopt -o nospace ;;
    esac
    COMPREPLY+=("$(printf %q "\${line#"$prefix"}")")
  done < <(cadiz __complete "\${words[@]}" 2>/dev/null)
}
complete -F _cadiz cadiz
`,
  zsh: `#compdef cadiz
_cadiz() {
  local -a lines folders others
  lines=("\${(@f)$(cadiz __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
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
  set -l words (commandline -opc) (commandline -ct)
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
