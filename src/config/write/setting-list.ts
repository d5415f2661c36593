// Lists every setting of a running configuration with its definition, for forms.

import type { SettingText } from '../check/check-settings.ts'
import { mask } from '../secrets/mask.ts'
import { maskUrlSecrets } from '../secrets/url-secrets.ts'
import type { GodwitConfig } from '../godwit-config.ts'
import type { Position, PlainValue } from '../hocon/config-values.ts'
import type { SchemaNode, Setting, AppliesOn } from '../schema/setting.ts'
import { root } from '../settings/root.ts'
import { formatType } from './setting-text.ts'

export interface DescribedSetting {
  readonly key: string
  readonly path: readonly string[]
  /** Description of the type: `a whole number from 1 to 65535`. */
  readonly type: string
  /** Words of a choice. */
  readonly values: readonly string[] | undefined
  readonly min: number | undefined
  readonly max: number | undefined
  /** Whether a value may have several lines. */
  readonly hasLines: boolean
  /** The default as written in a file, or a description. */
  readonly default: string
  readonly description: string
  readonly appliesOn: AppliesOn
  readonly hasEffect: boolean
  readonly isSecret: boolean
  /** A new entry needs it. */
  readonly isRequired: boolean
  /** Only the configuration file and `--set` may change it. */
  readonly isLocal: boolean
  readonly isDefault: boolean
  /** The value as written in a file; secrets are masked. */
  readonly value: string
  /** Position of the setting in a file; undefined: it is not written. */
  readonly place: Position | undefined
}

/** In the order of the reference. */
export function describeSettings({ settingTexts, places }: GodwitConfig): readonly DescribedSetting[] {
  return [...settingTexts].flatMap(([key, setting]) => {
    const node = findSetting(setting.path)
    return node === undefined ? [] : [describeSetting(key, setting, node, places.get(key))]
  })
}

/** Maximum names in a path of `describeNewEntries`. */
const maxPathNames = 10

/**
 * Describes a new entry of the named sections in `path` or directly below it, in the order of the reference: `['connectors']` has
 * `connectors.http.<name>.url`. Settings without effect and entries within entries are left out. Undefined: there is no such section.
 */
export function describeNewEntries(path: readonly string[]): readonly DescribedSetting[] | undefined {
  let node: SchemaNode | undefined = root
  for (const name of path.slice(0, maxPathNames)) {
    node = node?.kind === 'section' && Object.hasOwn(node.entries, name) ? node.entries[name] : undefined
  }
  if (node?.kind !== 'section' || path.length > maxPathNames) return undefined
  const sections: readonly (readonly [readonly string[], SchemaNode])[] = [
    [path, node],
    ...Object.entries(node.entries).map(([name, entry]) => [[...path, name], entry] as const),
  ]
  const found = sections.flatMap(([at, section]) => {
    if (section.kind !== 'section' || section.named === undefined) return []
    return [...describeSettingsBelow(section.named, [...at, `<${section.placeholder}>`])]
  })
  return found.length === 0 ? undefined : found
}

function* describeSettingsBelow(node: SchemaNode, path: readonly string[]): Generator<DescribedSetting> {
  if (node.ignored !== undefined) return
  if (node.kind === 'section') {
    for (const [name, entry] of Object.entries(node.entries)) yield* describeSettingsBelow(entry, [...path, name])
    return
  }
  const { appliesOn, isSecret, isLocal, type } = node
  const text = type.show(node.default)
  const setting = { path, text, isDefault: true, isSecret, isLocal, paths: [], appliesOn, hasEffect: true }
  yield describeSetting(path.join('.'), setting, node, undefined)
}

function describeSetting(
  key: string,
  setting: SettingText,
  node: Setting<unknown>,
  position: Position | undefined,
): DescribedSetting {
  const { path, appliesOn, hasEffect, isLocal, isDefault } = setting
  const shownDefault = node.isSecret && node.default !== undefined ? mask : node.type.show(node.default)
  return {
    key,
    path,
    type: formatType(node),
    ...readBounds(node.type.jsonSchema),
    hasLines: node.type.hasLines ?? false,
    default: node.defaultWords ?? shownDefault,
    description: node.description,
    appliesOn,
    hasEffect,
    isSecret: node.isSecret,
    isRequired: node.isRequired,
    isLocal,
    isDefault,
    value: setting.isSecret && !isDefault ? mask : maskUrlSecrets(setting.text),
    place: position,
  }
}

function findSetting(path: readonly string[]): Setting<unknown> | undefined {
  let node: SchemaNode | undefined = root
  for (const name of path) {
    if (node?.kind !== 'section') return undefined
    node = Object.hasOwn(node.entries, name) ? node.entries[name] : node.named
  }
  return node?.kind === 'setting' ? node : undefined
}

function readBounds(schema: PlainValue): Pick<DescribedSetting, 'values' | 'min' | 'max'> {
  const { type, enum: choices, minimum, maximum, anyOf } = schema as Readonly<Record<string, PlainValue>>
  // Optional settings have a type or no value.
  if (Array.isArray(anyOf) && anyOf[0] !== undefined) return readBounds(anyOf[0])
  if (type === 'boolean') return { values: ['true', 'false'], min: undefined, max: undefined }
  return {
    values: Array.isArray(choices) ? choices.map(String) : undefined,
    min: typeof minimum === 'number' && type !== 'string' ? minimum : undefined,
    max: typeof maximum === 'number' && type !== 'string' ? maximum : undefined,
  }
}
