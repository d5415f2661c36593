import type { SchemaNode, Section, Setting } from '../schema/setting.ts'

/** A section or setting with its key; `<name>` stands for any name. */
export type SchemaPlace =
  | { readonly key: string; readonly node: Setting<unknown>; readonly ignored: string | undefined }
  | { readonly key: string; readonly node: Section; readonly ignored: string | undefined }

/**
 * Enumerates every section and setting below `node`, sections before their contents. `ignored` is the
 * reason of the node or of a section above it.
 */
export function* walkSchema(node: SchemaNode, key = '', ignoredAbove?: string): Generator<SchemaPlace> {
  const ignored = ignoredAbove ?? node.ignored
  if (node.kind === 'setting') {
    yield { key, node, ignored }
    return
  }
  yield { key, node, ignored }
  const prefix = key === '' ? '' : `${key}.`
  for (const [name, entry] of Object.entries(node.entries)) yield* walkSchema(entry, `${prefix}${name}`, ignored)
  if (node.named !== undefined) yield* walkSchema(node.named, `${prefix}<${node.placeholder}>`, ignored)
}
