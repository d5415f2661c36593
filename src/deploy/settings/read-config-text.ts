// `spec.config`: settings of the broker as the text of its file.

import { parseHocon, type ConfigObject, type ConfigValue } from '../../config/index.ts'
import type { FaultList } from '../documents/fault-list.ts'
import { findOwnedReason } from './owned-settings.ts'
import {
  formatCheckedValue,
  formatKey,
  formatValue,
  hasMark,
  markVariable,
  type SettingLine,
  type Variables,
} from './setting-lines.ts'

const origin = ['spec', 'config'] as const

/** Returns the line of the document for a line of the text. A text of several lines begins below its key. */
export function toDocumentLine(text: string, start: number, lineInText: number): number | undefined {
  return start > 0 && lineInText > 0 && text.includes('\n') ? start + lineInText : undefined
}

/** Returns the settings in the text. Faults are added to `list`; `start` is the line of the field. */
export function readConfigText(
  text: string,
  variables: Variables,
  list: FaultList,
  start: number,
): readonly SettingLine[] {
  if (hasMark(text)) {
    list.addFault(origin, 'the text has the private characters U+E000 or U+E001', 'remove them')
    return []
  }
  const environment = Object.fromEntries([...variables.values.keys()].map((name) => [name, markVariable(name)]))
  const parsed = parseHocon(text, { file: 'spec.config', environment })
  if ('errors' in parsed) {
    for (const { line, key, message, hint } of parsed.errors) {
      const subject = key === '' ? '' : `${key}: `
      const words = `line ${line}: ${subject}${message}`
      list.addFault(origin, words, hint === '' ? 'correct the text' : hint, toDocumentLine(text, start, line))
    }
    return []
  }
  return listLeaves(parsed.value, []).flatMap(({ key, value }): SettingLine[] => {
    const reason = findOwnedReason(key)
    if (reason !== undefined) {
      const message = `line ${value.at.line}: ${formatKey(key)} is set by the operator`
      list.addFault(origin, message, reason, toDocumentLine(text, start, value.at.line))
      return []
    }
    return [
      {
        key,
        text: formatValue(value, variables),
        checkedText: formatCheckedValue(value, variables),
        origin,
        lineInText: value.at.line,
      },
    ]
  })
}

interface Leaf {
  readonly key: readonly string[]
  readonly value: ConfigValue
}

function listLeaves(object: ConfigObject, path: readonly string[]): Leaf[] {
  return [...object.entries].flatMap(([name, value]) => {
    const key = [...path, name]
    return value.kind === 'object' && value.entries.size > 0 ? listLeaves(value, key) : [{ key, value }]
  })
}
