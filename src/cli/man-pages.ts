// Manual pages in troff, made from the same commands and options as `--help`.

export interface DescribedCommand {
  /** Words after `godwit`; empty for `godwit` itself. */
  readonly path: readonly string[]
  readonly usage: string
  readonly description: string
  /** Flags as `--help` shows them, each with what it does. */
  readonly options: readonly (readonly [flags: string, description: string])[]
  readonly commands: readonly DescribedCommand[]
}

export interface ManPage {
  /** `godwit-ctl.1` */
  readonly file: string
  readonly text: string
}

/** A page for `godwit`, and one for each of its commands with all that is below it. */
export function createManPages(godwit: DescribedCommand, version: string): ManPage[] {
  const pages = godwit.commands.map((command) => formatPage(command, version, command.commands))
  const others = godwit.commands.map(({ path }) => `.BR godwit\\-${escapeTroff(path.join('-'))} (1)`)
  const own = formatPage(godwit, version, [])
  const commands = godwit.commands.flatMap(({ path, description }) => [
    '.TP',
    `.B ${escapeTroff(path.join(' '))}`,
    escapeTroff(toSentence(description)),
  ])
  const more = ['.SH COMMANDS', ...commands, ...environment, '.SH SEE ALSO', others.join(',\n')]
  return [{ ...own, text: `${own.text}${more.join('\n')}\n` }, ...pages]
}

function formatPage(command: DescribedCommand, version: string, below: readonly DescribedCommand[]): ManPage {
  const name = ['godwit', ...command.path].join('-')
  const lines = [
    `.TH ${name.toUpperCase()} 1 "" "Godwit ${version}" "Godwit"`,
    '.SH NAME',
    `${escapeTroff(name)} \\- ${escapeTroff(command.description.replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    `.B ${escapeTroff(command.usage)}`,
    '.SH DESCRIPTION',
    escapeTroff(toSentence(command.description)),
    ...formatOptions(command, '.SH OPTIONS'),
    ...(below.length === 0 ? [] : ['.SH COMMANDS', ...below.flatMap(formatSection)]),
  ]
  return { file: `${name}.1`, text: `${lines.join('\n')}\n` }
}

function formatSection(command: DescribedCommand): string[] {
  const own = [
    `.SS ${escapeTroff(command.usage)}`,
    escapeTroff(toSentence(command.description)),
    ...formatOptions(command, '.PP'),
  ]
  return [...own, ...command.commands.flatMap(formatSection)]
}

function formatOptions({ options }: DescribedCommand, heading: string): string[] {
  if (options.length === 0) return []
  const entries = options.flatMap(([flags, description]) => [
    '.TP',
    `.B ${escapeTroff(flags)}`,
    escapeTroff(description),
  ])
  return [heading, ...entries]
}

const environment = [
  '.SH ENVIRONMENT',
  '.TP',
  '.B GODWIT_CONFIG',
  'Configuration file, if \\-\\-config is not given.',
  '.TP',
  '.B GODWIT_DATA',
  'Data directory, if \\-\\-data is not given.',
  '.TP',
  '.B NO_COLOR',
  'If set, no colours are written to a terminal.',
]

function toSentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1)
  return begun.endsWith('.') ? begun : `${begun}.`
}

/** A backslash and a hyphen mean themselves, and no line begins with a control character of troff. */
function escapeTroff(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll('\\', '\\e').replaceAll('-', '\\-')
  return /^[.']/.test(line) ? `\\&${line}` : line
}
