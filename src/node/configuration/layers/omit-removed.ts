// Drops changes of the API to a bridge or listener that was removed from the file since: they would be an incomplete
// item, and an error at a start would name a key that is in no file.

import {
  type ConfigObject,
  type ConfigValue,
  createConfigError,
  mergeObjects,
  parseOverride,
  putValue,
  findConfigValue,
  type Warning,
  omitValue,
} from '../../../config/index.ts'

/** Paths of named items, and the key that each must have. */
const namedThings: readonly { readonly path: readonly string[]; readonly needs: string }[] = [
  { path: ['bridges', 'mqtt'], needs: 'server' },
  { path: ['bridges', 'aws'], needs: 'server' },
  ...['tcp', 'ssl', 'ws', 'wss', 'quic'].map((kind) => ({ path: ['listeners', kind], needs: 'bind' })),
]

export interface KeptChanges {
  readonly changes: ConfigObject
  readonly warnings: readonly Warning[]
}

/** `written`: values of the file. `overrides`: of `--set`. */
export function omitRemoved(
  changes: ConfigObject,
  { written, overrides }: { readonly written: ConfigObject; readonly overrides: readonly string[] },
): KeptChanges {
  let dependencies = written
  for (const override of overrides) {
    const parsed = parseOverride(override)
    if ('path' in parsed) dependencies = putValue(dependencies, parsed.path, parsed.value)
  }
  const merged = mergeObjects(dependencies, changes)
  let kept = changes
  const warnings: Warning[] = []
  for (const { path, needs } of namedThings) {
    for (const [name, part] of listEntries(changes, path)) {
      const whole = [...path, name]
      if (
        part.kind !== 'object' ||
        findConfigValue(dependencies, whole) !== undefined ||
        isSet(findConfigValue(merged, [...whole, needs]))
      )
        continue
      kept = omitValue(kept, whole)
      const words = 'it is not in the file any more, so what was changed of it over the API does not count'
      warnings.push(createConfigError({ file: 'changed-settings.conf', line: 0, column: 0 }, whole.join('.'), words))
    }
  }
  return { changes: kept, warnings }
}

function listEntries(object: ConfigObject, path: readonly string[]): Iterable<readonly [string, ConfigValue]> {
  const found = findConfigValue(object, path)
  return found?.kind === 'object' ? found.entries : []
}

function isSet(value: ConfigValue | undefined): boolean {
  return value !== undefined && value.kind !== 'null'
}
