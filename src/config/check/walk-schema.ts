import type { SchemaNode, Section, Setting } from '../schema/setting.ts'

/** A section or setting with its key; `<name>` stands for any name. */
export type SchemaPlace =
  | { readonly key: string; readonly node: Setting<unknown>; readonly engine: 'present' | 'none yet' }
  | { readonly key: string; readonly node: Section; readonly engine: 'present' | 'none yet' }

/**
 * Enumerates every section and setting below `node`, sections before their contents. Below a section without effect,
 * nothing has one.
 */
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
