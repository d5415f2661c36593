// Texts that the example file and the reference page share.

import type { Setting, AppliesOn } from '../schema/setting.ts'

/** When a change of the setting applies, after "applies". */
export const appliesOnText: Readonly<Record<AppliesOn, string>> = {
  'at-once': 'at once',
  'on-next-connect': 'to later connections',
  'at-restart': 'after a restart',
}

/** Sentences about how changes reach a running broker. */
export const reloadText =
  'A running broker reads the file again on SIGHUP or `godwit ctl reload`, and the API can change settings. Each setting states when a change applies.'

/** The type with its unit. */
export function formatType(setting: Setting<unknown>): string {
  return setting.unit === undefined ? setting.type.name : `${setting.type.name} (${setting.unit})`
}

/** The description and, if the setting has no effect, the reason. */
export function formatDescription({ description, ignored }: Setting<unknown>): string {
  return ignored === undefined ? description : `${description} ${formatIgnoredReason(ignored)}`
}

export function formatIgnoredReason(reason: string): string {
  return `No effect: ${reason}.`
}

/** Wraps sentences to lines of at most `width` characters with `prefix`. */
export function wrap(sentences: string, prefix: string, width: number): string[] {
  const lines: string[] = []
  let line = prefix
  for (const word of sentences.split(' ')) {
    if (line !== prefix && line.length + 1 + word.length > width) {
      lines.push(line)
      line = prefix
    }
    line += line === prefix ? word : ` ${word}`
  }
  return [...lines, line]
}
