// Restricts the names in an item of a namespace (a rule, connector, action or source). It names actions by their own names, and no files
// of this machine unless a global administrator sets them.

/** Types that write to files of this machine. */
const typesOfFiles: ReadonlySet<string> = new Set(['disk_log', 'sqlite'])
/** Ends of keys whose values are names of files. */
const fileKey = /file$|^filepath$/

/** Changes the names of actions of the configuration in an action of a rule and its fallbacks. */
export function mapActionNames(action: unknown, nameOf: (name: string) => string): unknown {
  if (typeof action === 'string') return nameOf(action)
  if (typeof action !== 'object' || action === null || !('action' in action)) return action
  const { fallbacks } = action as { readonly fallbacks?: unknown }
  const named = { ...action, action: mapActionNames(action.action, nameOf) }
  if (!Array.isArray(fallbacks)) return named
  return { ...named, fallbacks: fallbacks.map((fallback) => mapActionNames(fallback, nameOf)) }
}

/** Changes the names of the connector and of the fallbacks in settings of an action or source. */
export function mapSettingNames(
  settings: Readonly<Record<string, unknown>>,
  nameOf: (name: string) => string,
): Readonly<Record<string, unknown>> {
  const { connector, fallback_actions: fallbacks } = settings
  return {
    ...settings,
    ...(typeof connector === 'string' ? { connector: nameOf(connector) } : {}),
    ...(Array.isArray(fallbacks)
      ? { fallback_actions: fallbacks.map((fallback) => mapFallbackName(fallback, nameOf)) }
      : {}),
  }
}

function mapFallbackName(fallback: unknown, nameOf: (name: string) => string): unknown {
  if (typeof fallback !== 'object' || fallback === null || !('name' in fallback)) return fallback
  return typeof fallback.name === 'string' ? { ...fallback, name: nameOf(fallback.name) } : fallback
}

/** Returns why an account of a namespace must not create this item; undefined: it may. Global administrators may create all. */
export function findFileProblem(type: string, settings: unknown): string | undefined {
  if (typesOfFiles.has(type))
    return `${type} writes to files of the broker: a global administrator can make it for a namespace`
  const key = findFileKey(settings)
  if (key === undefined) return undefined
  return `${key} names a file of the broker: a global administrator can set it for a namespace`
}

/** Returns whether only global administrators may set this setting of an entry. `path`: below the entry. */
export function isSettingOfFiles(type: string, path: readonly string[]): boolean {
  return typesOfFiles.has(type) || path.some((key) => fileKey.test(key))
}

function findFileKey(settings: unknown): string | undefined {
  if (typeof settings !== 'object' || settings === null) return undefined
  for (const [key, value] of Object.entries(settings)) {
    if (fileKey.test(key) && value !== '' && value !== 'none' && value !== null) return key
    const found = findFileKey(value)
    if (found !== undefined) return found
  }
  return undefined
}
