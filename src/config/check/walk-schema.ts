import type { SchemaNode, Section, Setting } from '../schema/setting.ts'

/** One part of the schema with the key that leads to it; `<name>` stands for keys that can be anything. */
export type SchemaPlace =
  | { readonly key: string; readonly node: Setting<unknown>; readonly engine: 'present' | 'none yet' }
  | { readonly key: string; readonly node: Section; readonly engine: 'present' | 'none yet' }

/** Every section and setting below `node`, sections before what they hold. A part of what has no engine has none. */
export function* walkSchema(
  node: SchemaNode,
  key = '',
  engineAbove: 'present' | 'none yet' = 'present',
): Generator<SchemaPlace> {
  const engine = engineAbove === 'none yet' ? engineAbove : node.engine
  if (node.kind === 'setting') {
    yield { key, node, engine }
    return
  }
  yield { key, node, engine }
  const prefix = key === '' ? '' : `${key}.`
  for (const [name, entry] of Object.entries(node.entries)) yield* walkSchema(entry, `${prefix}${name}`, engine)
  if (node.named !== undefined) yield* walkSchema(node.named, `${prefix}<${node.placeholder}>`, engine)
}
