// Completion scripts for shells, made from the same commands and options as `--help`.

export interface CompletedCommand {
  /** Words after `godwit`: `ctl clients list`; empty for `godwit` itself. */
  readonly path: string
  /** Subcommands and options, each with what it does. */
  readonly words: readonly { readonly word: string; readonly description: string }[]
}

export const completedShells = ['bash', 'zsh', 'fish'] as const
export type CompletedShell = (typeof completedShells)[number]

export function createCompletionScript(shell: CompletedShell, commands: readonly CompletedCommand[]): string {
  switch (shell) {
    case 'bash':
      return createBashScript(commands)
    case 'zsh':
      return createZshScript(commands)
    case 'fish':
      return createFishScript(commands)
    default:
      return shell satisfies never
  }
}

/** The path is what was typed so far without options, as far as it names commands. */
function createBashScript(commands: readonly CompletedCommand[]): string {
  return `# godwit completion for bash: source <(godwit completion bash)
_godwit() {
  local path="" word candidate words index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    candidate="\${path:+$path }$word"
    if _godwit_words "$candidate" >/dev/null; then path="$candidate"; fi
  done
  words="$(_godwit_words "$path")"
  if [[ "\${COMP_WORDS[COMP_CWORD]}" != -* ]]; then words="$(tr ' ' '\\n' <<<"$words" | grep -v '^-')"; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
_godwit_words() {
  case "$1" in
${commands.map(formatBashCase).join('\n')}
    *) return 1 ;;
  esac
}
complete -o default -F _godwit godwit
`
}

function formatBashCase({ path, words }: CompletedCommand): string {
  return `    '${path}') echo "${words.map(({ word }) => word).join(' ')}" ;;`
}

/** zsh runs the script of bash. */
function createZshScript(commands: readonly CompletedCommand[]): string {
  const [head = '', ...rest] = createBashScript(commands).split('\n')
  const own = head.replace('for bash', 'for zsh').replace('completion bash', 'completion zsh')
  return [own, 'autoload -U +X compinit && compinit', 'autoload -U +X bashcompinit && bashcompinit', ...rest].join('\n')
}

function createFishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, words }) => {
    const level = path === '' ? 0 : path.split(' ').length
    const isHere = `test (string join ' ' (commandline -opc | string match -rv '^-')[2..${level + 1}]) = '${path}'`
    const isNext = `test (count (commandline -opc | string match -rv '^-')) -eq ${level + 1}`
    return words.map(({ word, description }) => {
      const text = description.replaceAll(/['\\]/g, '')
      const condition = word.startsWith('--') ? isHere : `${isHere}; and ${isNext}`
      const kind = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`
      return `complete -c godwit -n "${condition}" ${kind} -d '${text}'`
    })
  })
  return `# godwit completion for fish: godwit completion fish | source\n${lines.join('\n')}\n`
}
