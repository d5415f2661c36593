// Finds the field of an error message of the broker, which names the key of the setting.

export interface SettingProblems {
  /** By the key below the entry: `parameters.topic`. */
  readonly byKey: ReadonlyMap<string, string>
  /** Messages that name no field. */
  readonly rest: readonly string[]
}

/** Of the name that an entry gets while it is tested. */
const probeName = 'probe'

/** `keys`: of the fields. `place`: the path of the entry, with its name at the end. */
export function parseSettingProblems(
  message: string,
  keys: readonly string[],
  entryPath: readonly string[],
): SettingProblems {
  const prefixes = [entryPath, [...entryPath.slice(0, -1), probeName]].map((path) => `${path.join('.')}.`)
  // The longest first: `parameters` is in `parameters.topic`.
  const sorted = keys.toSorted((one, other) => other.length - one.length)
  const byKey = new Map<string, string>()
  const rest: string[] = []
  for (const line of message.split('\n')) {
    const key = sorted.find((one) => namesSetting(line, one, prefixes))
    if (key === undefined) rest.push(line)
    else byKey.set(key, [...(byKey.has(key) ? [byKey.get(key)] : []), line].join('\n'))
  }
  return { byKey, rest }
}

function namesSetting(line: string, key: string, prefixes: readonly string[]): boolean {
  if (line.startsWith(`${key}:`)) return true
  return prefixes.some((prefix) => {
    const at = line.indexOf(prefix + key)
    return at >= 0 && !/^[\w-]|^\.\w/.test(line.slice(at + prefix.length + key.length))
  })
}
