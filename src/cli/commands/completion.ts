import { command, group } from "../command-line/command.ts";

/** `PROGRAM completion bash|zsh|fish`, for each of our programs. */
export function completionCommands(program: string) {
  const ofShell = (shell: Shell) =>
    command({
      name: shell,
      description: `print the completion script for ${shell}; its head says how to use it`,
      examples: examples[shell](program),
      async run() {
        const script = completionScript(shell, program);
        return { json: { shell, script }, text: script };
      },
    });
  return group({
    name: "completion",
    description: "complete commands, flags, agents, addresses and tools in your shell",
    examples: shells.flatMap((shell) => examples[shell](program)),
    subCommands: {
      bash: async () => ofShell("bash"),
      zsh: async () => ofShell("zsh"),
      fish: async () => ofShell("fish"),
    },
  });
}

const examples: Record<Shell, (program: string) => string[]> = {
  bash: (program) => [`source <(${program} completion bash)`],
  zsh: (program) => [`source <(${program} completion zsh)`],
  fish: (program) => [`${program} completion fish > ~/.config/fish/completions/${program}.fish`],
};

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

/**
 * The script that teaches a shell to complete `program`. It asks `program complete`, whose answer is a line
 * `value TAB description` for each candidate and a last line `:none`, `:files` or `:folders`. The typed words
 * are passed unchanged and never evaluated. Needs nothing but the shell: bash 3.2, zsh 5, fish 3. Pure.
 */
function completionScript(shell: Shell, program: string): string {
  const name = `_${program.replaceAll("-", "_")}_complete`;
  return { bash, zsh, fish }[shell](program, name);
}

/** How the script is made part of the shell for good, as comments at its head. */
function heading(program: string, shell: Shell, lines: readonly string[]): string {
  return [`# ${shell} completion of ${program}. To use it:`, ...lines.map((line) => `#   ${line}`)].join(
    "\n",
  );
}

/**
 * Bash splits words at characters such as @ and =, so the program is given the line itself, and of each
 * candidate only what follows the last such character is put in place.
 */
function bash(program: string, name: string): string {
  return `${heading(program, "bash", [`now: source <(${program} completion bash)`, `always: the same line in ~/.bashrc`])}
${name}() {
  local line=\${COMP_LINE:0:COMP_POINT} raw before reply paths=none value quoted rest index
  COMPREPLY=()
  raw=\${line##*[[:space:]]}
  before=
  case $raw in
  [\\"\\']*) ;;
  *)
    for ((index = \${#raw} - 1; index >= 0; index--)); do
      case $COMP_WORDBREAKS in
      *"\${raw:index:1}"*)
        # Readline counts these two to the word that they begin.
        case \${raw:index:1} in [@$]) ((index--)) ;; esac
        before=\${raw:0:index+1}
        break
        ;;
      esac
    done
    ;;
  esac
  while IFS= read -r reply; do
    case $reply in
    :none | :files | :folders)
      paths=\${reply#:}
      ;;
    *)
      value=\${reply%%$'\\t'*}
      case $raw in
      [\\"\\']*) quoted=$value ;;
      *) printf -v quoted %q "\${value#"$before"}" ;;
      esac
      COMPREPLY[\${#COMPREPLY[@]}]=$quoted
      ;;
    esac
  done < <(command ${program} complete --line "$line" 2>/dev/null)
  rest=\${raw#"$before"}
  if [ \${#COMPREPLY[@]} -eq 0 ] && [ "$paths" != none ]; then
    case $paths in files) value=default index=-f ;; *) value=dirnames index=-d ;; esac
    # Before version 4 bash has no compopt.
    compopt -o "$value" 2>/dev/null || while IFS= read -r value; do
      COMPREPLY[\${#COMPREPLY[@]}]=$value
    done < <(compgen "$index" -- "$rest")
  fi
}
complete -F ${name} ${program}
`;
}

function zsh(program: string, name: string): string {
  return `#compdef ${program}
${heading(program, "zsh", [
  `now: source <(${program} completion zsh)`,
  `always: ${program} completion zsh > a folder of $fpath, as _${program}`,
])}
${name}() {
  local reply paths=none value
  local -a typed items
  typed=("\${(@Q)words[2,CURRENT-1]}")
  while IFS= read -r reply; do
    case $reply in
    (:none|:files|:folders) paths=\${reply#:} ;;
    (*)
      value=\${reply%%$'\\t'*}
      value=\${value//\\\\/\\\\\\\\}
      items+=("\${value//:/\\\\:}:\${reply#*$'\\t'}")
      ;;
    esac
  done < <(command ${program} complete -- "\${typed[@]}" "\${(Q)PREFIX}" 2>/dev/null)
  if (( \${#items} )); then
    _describe -t values ${program} items
  elif [[ $paths != none ]]; then
    compset -P '--*='
    if [[ $paths == folders ]]; then _files -/; else _files; fi
  else
    return 1
  fi
}
if [[ \${funcstack[1]} == _${program} ]]; then
  ${name} "$@"
elif (( $+functions[compdef] )); then
  compdef ${name} ${program}
fi
`;
}

function fish(program: string, name: string): string {
  return `${heading(program, "fish", [
    `now: ${program} completion fish | source`,
    `always: ${program} completion fish > ~/.config/fish/completions/${program}.fish`,
  ])}
function ${name}
    set -l typed (commandline -opc)
    set -l raw (commandline -ct)
    set -l current (string unescape -- $raw)
    or set current $raw
    set -l replies (command ${program} complete -- $typed[2..-1] "$current" 2>/dev/null)
    set -q replies[1]
    or return
    switch $replies[-1]
        case :files
            __fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current")
        case :folders
            __fish_complete_directories (string replace -r -- '^--[^=]*=' '' "$current") ''
    end
    set -e replies[-1]
    printf '%s\\n' $replies
end
complete -c ${program} -e
complete -c ${program} -f -a '(${name})'
`;
}
