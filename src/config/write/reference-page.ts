// Writes docs/CONFIGURATION.md: every setting, and the syntax of a configuration.

import { describeDefault } from '../check/check-settings.ts'
import { hoconLimits } from '../hocon/limits.ts'
import type { Section, Setting } from '../schema/setting.ts'
import { ignoredSettings } from '../settings/ignored-settings.ts'
import { root } from '../settings/root.ts'
import { describe, ignoredText, reloadText, appliesOnText, typeText } from './setting-text.ts'

const introduction = `# Configuration

*Made from the settings themselves by \`godwit config docs\`: change those, not this page.*

Godwit reads the file named with \`--config FILE\` or \`GODWIT_CONFIG\`; otherwise \`godwit.conf\` in the data directory, then \`/etc/godwit/godwit.conf\`
(installed packages), then \`etc/godwit.conf\` of the package, which lists the defaults. \`godwit init\` writes one of your own. Without any,
every setting has its default. \`--set KEY=VALUE\` overrides one setting and may be given several times; it wins over the file.

\`godwit config check FILE\` reports every error in a file with line and key, and the settings in it without effect. \`godwit config example\` prints the file with all defaults as comments, \`godwit config schema\` a JSON Schema.

## How a file is written

The language is HOCON, a superset of JSON.

\`\`\`hocon
# A comment; so is what follows //
mqtt.max_packet_size = 2MB         # one key, dotted ...
mqtt {                             # ... or groups in braces, with = or without
  retry_interval = 20s
  max_inflight_window = 64
}
log.to = [console, file]           # a list
log.to += file                     # one more item
listeners.tcp.plant { bind = "10.0.0.5:1884" }   # text with : or other HOCON characters needs quotes

node.data_dir = /var/lib/godwit
log.dir = \${node.data_dir}/log     # the value of another key; \${?node.data_dir} if the key may be missing
auth.password { include "users.conf" }
\`\`\`

- If a setting is set twice, the later value applies. Groups that are written twice are merged.
- An unknown key is an error. The message suggests the setting that was probably meant.
- A substitution is replaced by a setting or an environment variable: \`\${HOME}\`. In quotes it is plain text.
- **Durations** are numbers with a unit: \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`, also several in a row (\`1h30m\`). A number without a unit is in seconds,
  unless the setting has another unit.
- **Sizes** are numbers of bytes, or numbers with the unit \`KB\`, \`MB\` or \`GB\`; K is 1024.
- **Switches** are \`true\` and \`false\`; \`on\`, \`off\`, \`yes\` and \`no\` are accepted as well.
- If a setting can have no value, \`none\`, \`unlimited\`, \`auto\`, \`unset\` and \`null\` all mean that.
- \`include "file"\` includes another file, which must be below the directory of the configuration file. A missing file is an error.
  \`include url(...)\` and \`include classpath(...)\` are refused.
- With \`--set\`, a value that begins with a quote, a bracket or a brace is parsed as in a file; any other value is plain text.

${reloadText}

Limits of a configuration: LIMITS.
`

/** Returns the reference page. */
export function writeReferencePage(): string {
  const limits = [
    `${hoconLimits.maxTextCharacters} characters including all included files`,
    `${hoconLimits.maxValues} values`,
    `${hoconLimits.maxDepth} levels of nesting`,
    `${hoconLimits.maxIncludes} included files, ${hoconLimits.maxIncludeDepth} deep`,
  ].join(', ')
  const sections = Object.entries(root.entries).map(([key, node]) =>
    node.kind === 'setting' ? `## ${key}\n\n${writeTable([[key, node]])}` : writeSection(key, node, 2),
  )
  return `${introduction.replace('LIMITS', limits)}\n${sections.join('\n')}\n${writeIgnored()}`
}

function writeIgnored(): string {
  const items = Object.entries(ignoredSettings).map(([key, reason]) => `- \`${key}\`: ${reason}.`)
  return [
    '## Settings without effect',
    '',
    'These settings of other brokers are accepted, so that their files can be used unchanged. `godwit config check` warns of them.',
    'A section includes everything below it; `*` stands for any name at its place.',
    '',
    ...items,
    '',
  ].join('\n')
}

/** `ignored`: why the section around it has no effect. */
function writeSection(key: string, node: Section, level: number, ignored = node.ignored): string {
  const words = node.ignored === undefined ? node.description : `${node.description} **${ignoredText(node.ignored)}**`
  const settings: [string, Setting<unknown>][] = []
  const below: string[] = []
  for (const [name, entry] of Object.entries(node.entries)) {
    const why = entry.ignored ?? ignored
    if (entry.kind === 'setting') settings.push([`${key}.${name}`, { ...entry, ignored: why }])
    else below.push(writeSection(`${key}.${name}`, entry, level + 1, why))
  }
  below.unshift(...writeNamed(key, node, level))
  const table = writeTable(settings)
  return [`${'#'.repeat(Math.min(level, 6))} ${key}\n\n${words}\n`, table, ...below]
    .filter((part) => part !== '')
    .join('\n')
}

function writeNamed(key: string, node: Section, level: number): string[] {
  const { named, placeholder } = node
  if (named === undefined) return []
  const namedKey = `${key}.<${placeholder}>`
  if (named.kind === 'setting') return [writeTable([[namedKey, named]])]
  if (named.entries !== node.entries) return [writeSection(namedKey, named, level + 1)]
  return [`\`${namedKey}\` has the same settings, for a further entry with a name.\n`]
}

function writeTable(settings: readonly [string, Setting<unknown>][]): string {
  if (settings.length === 0) return ''
  const rows = settings.map(([key, node]) => {
    const words = describe(node)
    const secret = node.isSecret ? ' Secret: never shown.' : ''
    const cells = [
      `\`${key}\``,
      typeText(node),
      describeDefaultCell(node),
      appliesOnText[node.appliesOn],
      words + secret,
    ]
    return `| ${cells.map(escapeCell).join(' | ')} |`
  })
  const head = '| setting | value | default | a change applies | meaning |\n| --- | --- | --- | --- | --- |'
  return `${head}\n${rows.join('\n')}\n`
}

function describeDefaultCell(node: Setting<unknown>): string {
  return node.defaultWords === undefined ? `\`${describeDefault(node)}\`` : node.defaultWords
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|')
}
