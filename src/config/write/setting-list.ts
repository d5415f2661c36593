// Lists every setting of a running configuration with its definition, for forms.

import type { HeldSetting } from '../check/check-settings.ts'
import { mask } from '../differences.ts'
import type { GodwitConfig } from '../godwit-config.ts'
import type { Position, PlainValue } from '../hocon/values.ts'
import type { SchemaNode, Setting, AppliesOn } from '../schema/setting.ts'
import { root } from '../settings/root.ts'
import { typeText } from './setting-text.ts'

export interface DescribedSetting {
  readonly key: string
  readonly path: readonly string[]
  /** As text: `a whole number from 1 to 65535`. */
  readonly type: string
  /** Words of a choice. */
  readonly values: readonly string[] | undefined
  readonly min: number | undefined
  readonly max: number | undefined
  /** As in a file, or as text. */
  readonly default: string
  readonly description: string
  readonly takes: AppliesOn
  readonly hasEffect: boolean
  readonly isSecret: boolean
  /** Only the configuration file and `--set` may change it. */
  readonly isLocal: boolean
  readonly isDefault: boolean
  /** As in a file; secrets are masked. */
  readonly value: string
  /** Its position; undefined: not written. */
  readonly place: Position | undefined
}

/** In the order of the reference. */
export function describeSettings({ held, places }: GodwitConfig): readonly DescribedSetting[] {
  return [...held].flatMap(([key, setting]) => {
    const node = settingAt(setting.path)
    return node === undefined ? [] : [describeSetting(key, setting, node, places.get(key))]
  })
}

function describeSetting(
  key: string,
  setting: HeldSetting,
  node: Setting<unknown>,
  place: Position | undefined,
): DescribedSetting {
  const { path, takes, hasEffect, isSecret, isLocal, isDefault } = setting
  const preset = node.isSecret && node.default !== undefined ? mask : node.type.show(node.default)
  return {
    key,
    path,
    type: typeText(node),
    ...boundsOf(node.type.jsonSchema),
    default: node.defaultWords ?? preset,
    description: node.description,
    takes,
    hasEffect,
    isSecret,
    isLocal,
    isDefault,
    value: isSecret && !isDefault ? mask : setting.text,
    place,
  }
}

function settingAt(path: readonly string[]): Setting<unknown> | undefined {
  let node: SchemaNode | undefined = root
  for (const name of path) {
    if (node?.kind !== 'section') return undefined
    node = Object.hasOwn(node.entries, name) ? node.entries[name] : node.named
  }
  return node?.kind === 'setting' ? node : undefined
}

function boundsOf(schema: PlainValue): Pick<DescribedSetting, 'values' | 'min' | 'max'> {
  const { type, enum: choices, minimum, maximum, anyOf } = schema as Readonly<Record<string, PlainValue>>
  // Optional settings have a type or no value.
  if (Array.isArray(anyOf) && anyOf[0] !== undefined) return boundsOf(anyOf[0])
  if (type === 'boolean') return { values: ['true', 'false'], min: undefined, max: undefined }
  return {
    values: Array.isArray(choices) ? choices.map(String) : undefined,
    min: typeof minimum === 'number' && type !== 'string' ? minimum : undefined,
    max: typeof maximum === 'number' && type !== 'string' ? maximum : undefined,
  }
}
