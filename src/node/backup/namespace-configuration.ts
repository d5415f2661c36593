// The configuration of a namespace: its rules, connectors, actions and sources. In the archive they have the names that
// the namespace knows (`hook`), in the configuration of the broker those that end in it (`hook@plant`). So an archive can
// name nothing of another namespace, whatever it contains.

import { isDeepStrictEqual } from 'node:util'
import { mapActionNames, findFileProblem } from '../../actions/index.ts'
import type { PlainValue } from '../../config/index.ts'
import { toScopedName, splitScopedName } from '../../core/index.ts'

type Group = Readonly<Record<string, PlainValue>>

interface Item {
  /** `rule_engine`, `connectors`, `actions` or `sources`. */
  readonly section: string
  /** `rules` in `rule_engine`. */
  readonly type: string
  readonly name: string
  readonly settings: Group
}

const sections: readonly string[] = ['rule_engine', 'connectors', 'actions', 'sources']
/** The part of `rule_engine` that a namespace has. */
const rulesType = 'rules'

/** Returns what is written of the namespace, by its own names. `rootKeys`: sections; undefined: all. */
export function selectNamespaceConfiguration(
  written: PlainValue,
  namespace: string,
  rootKeys?: readonly string[],
): Group {
  const own = listItems(written).flatMap((item): Item[] => {
    const split = splitScopedName(item.name)
    if (split.namespace !== namespace || rootKeys?.includes(item.section) === false) return []
    return [{ ...item, name: split.name, settings: mapNames(item.settings, (name) => splitScopedName(name).name) }]
  })
  return createConfiguration(own)
}

/** Returns the configuration of an archive of the namespace with the names that it has in the broker. */
export function scopeConfiguration(
  own: Group,
  namespace: string,
): { readonly scoped: Group } | { readonly problem: string } {
  const others = listOtherKeys(own)
  if (others.length > 0) return { problem: `a namespace has no settings ${others.slice(0, 10).join(', ')}` }
  const items = listItems(own)
  const wrong = items.find(({ name }) => name.includes('@'))
  if (wrong !== undefined)
    return { problem: `${formatKey(wrong)} has a name with @: names in an archive of a namespace do not end in it` }
  return {
    scoped: createConfiguration(
      items.map((item) => ({
        ...item,
        name: toScopedName(namespace, item.name),
        settings: mapNames(item.settings, (name) => toScopedName(namespace, name)),
      })),
    ),
  }
}

/**
 * Returns why an administrator of the namespace must not restore this: it names files of the machine. What a global
 * administrator has created and is unchanged can stay in an archive.
 */
export function findNamespaceFileProblem(own: Group, current: Group): string | undefined {
  const known = new Map(listItems(current).map((item) => [formatKey(item), item.settings]))
  for (const item of listItems(own)) {
    const before = known.get(formatKey(item))
    if (before !== undefined && isDeepStrictEqual(copyPlain(before), copyPlain(item.settings))) continue
    const refusal = findFileProblem(item.type, item.settings)
    if (refusal !== undefined) return `${formatKey(item)}: ${refusal}`
  }
  return undefined
}

/** The key of the broker for a key in an archive of the namespace: `connectors.http.hook.url` is of `hook@plant`. */
export function toScopedKey(key: string, namespace: string): string {
  const [section = '', type = '', name = '', ...rest] = key.split('.')
  return [section, type, toScopedName(namespace, name), ...rest].join('.')
}

/** Removes the namespace from the names in a key or a message. */
export function removeScope(text: string, namespace: string): string {
  return text.replaceAll(toScopedName(namespace, ''), '')
}

/** Keys whose values are names of actions and connectors. */
const namesKey = /\.(actions|connector)$/

/** Removes the namespace from the names in a change of a setting. */
export function toOwnChange<Change extends { key: string; old: string | undefined; new: string | undefined }>(
  change: Change,
  namespace: string,
): Change {
  const toOwnValue = (value: string | undefined): string | undefined =>
    value !== undefined && namesKey.test(change.key) ? removeScope(value, namespace) : value
  return {
    ...change,
    key: removeScope(change.key, namespace),
    old: toOwnValue(change.old),
    new: toOwnValue(change.new),
  }
}

/** Keys of everything that a namespace does not have. */
function listOtherKeys(own: Group): readonly string[] {
  return Object.entries(own).flatMap(([section, types]) => {
    if (!sections.includes(section) || !isGroup(types)) return [section]
    return Object.entries(types).flatMap(([type, named]) => {
      const isKnown = (section !== 'rule_engine' || type === rulesType) && isGroup(named)
      if (!isKnown) return [`${section}.${type}`]
      return Object.entries(named).flatMap(([name, settings]) =>
        isGroup(settings) ? [] : [`${section}.${type}.${name}`],
      )
    })
  })
}

/** Items that a change has deleted are null, and left out. */
function listItems(configuration: PlainValue): readonly Item[] {
  return listEntries(configuration)
    .filter(([section]) => sections.includes(section))
    .flatMap(([section, types]) =>
      listEntries(types)
        .filter(([type]) => section !== 'rule_engine' || type === rulesType)
        .flatMap(([type, named]) =>
          listEntries(named).flatMap(([name, settings]) =>
            isGroup(settings) ? [{ section, type, name, settings }] : [],
          ),
        ),
    )
}

function createConfiguration(items: readonly Item[]): Group {
  const whole = Object.create(null) as Record<string, Record<string, Record<string, PlainValue>>>
  for (const { section, type, name, settings } of items) {
    const types = (whole[section] ??= Object.create(null) as Record<string, Record<string, PlainValue>>)
    const named = (types[type] ??= Object.create(null) as Record<string, PlainValue>)
    named[name] = settings
  }
  return whole
}

function mapNames(settings: Group, nameOf: (name: string) => string): Group {
  const { actions, connector } = settings
  return {
    ...settings,
    ...(actions !== undefined && {
      actions: [actions].flat().map((action) => mapActionNames(action, nameOf) as PlainValue),
    }),
    ...(typeof connector === 'string' && { connector: nameOf(connector) }),
  }
}

/** Without differences in prototypes. */
function copyPlain(settings: Group): unknown {
  return JSON.parse(JSON.stringify(settings)) as unknown
}

const formatKey = ({ section, type, name }: Pick<Item, 'section' | 'type' | 'name'>): string =>
  `${section}.${type}.${name}`

function listEntries(value: PlainValue): readonly [string, PlainValue][] {
  return isGroup(value) ? Object.entries(value) : []
}

function isGroup(value: PlainValue | undefined): value is Group {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
