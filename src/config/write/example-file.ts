// Writes etc/godwit.conf: every setting with an effect, commented out, with its default.

import { walkSchema } from '../check/walk-schema.ts'
import type { SchemaNode, Section, Setting } from '../schema/setting.ts'
import { root } from '../settings/root.ts'
import { reloadText, appliesOnText, formatType, wrap } from './setting-text.ts'

const width = 110

const introduction = [
  'The configuration of Godwit, with each setting as a comment with its default: to change a setting, remove the # in',
  'front of it and write another value. docs/CONFIGURATION.md describes all settings and the syntax of this file.',
  'This file lists the defaults of the package, and an upgrade replaces it: do not edit it. "godwit init" writes a file of your own.',
  '',
  'Check a changed file with: godwit config check FILE',
  'Override a single setting with: godwit start --set KEY=VALUE',
  '',
  reloadText,
]

/** For the file of `godwit init`. */
const introductionForUser = introduction.filter((line) => !line.startsWith('This file'))

/**
 * Returns the commented default file. As a configuration it changes nothing. `isForUser`: the file belongs to the user
 * and survives an upgrade.
 */
export function writeExampleFile(isForUser = false): string {
  const lines = (isForUser ? introductionForUser : introduction).map((line) => `# ${line}`.trimEnd())
  for (const { key, node, ignored } of walkSchema(root)) {
    if (ignored !== undefined || key === '' || isBelowName(key) || !hasEffect(node)) continue
    lines.push('', ...(node.kind === 'section' ? formatSection(key, node) : formatSetting(key, node)))
  }
  return `${lines.join('\n')}\n`
}

/** Returns whether the setting, or one of the group, has an effect. */
function hasEffect(node: SchemaNode): boolean {
  return [...walkSchema(node)].some((entry) => entry.node.kind === 'setting' && entry.ignored === undefined)
}

/** Settings below a name are the same as those next to it, and described there. */
function isBelowName(key: string): boolean {
  return key.includes('<')
}

function formatSection(key: string, node: Section): string[] {
  const lines = [`### ${key}`, ...wrap(node.description, '# ', width)]
  if (node.named !== undefined) {
    lines.push(...wrap(`${key}.<${node.placeholder}>.KEY sets the same for one of a name of your own.`, '# ', width))
  }
  return lines
}

function formatSetting(key: string, node: Setting<unknown>): string[] {
  const lines = wrap(node.description, '# ', width)
  lines.push(...wrap(`Value: ${formatType(node)}. A change applies ${appliesOnText[node.appliesOn]}.`, '# ', width))
  if (node.defaultWords !== undefined) lines.push(...wrap(`Default: ${node.defaultWords}.`, '# ', width))
  return [...lines, `#${key} = ${node.type.show(node.default)}`]
}
