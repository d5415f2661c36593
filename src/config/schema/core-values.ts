// Settings that the core takes as they are: the entry of the setting names the field of the core's settings.

import type { Section, Setting, ValueOf } from './setting.ts'

type CoreName<Node> = Node extends { readonly core: infer Name extends string } ? Name : never

/** The fields of the core's settings that a section defines, with their types. */
export type CoreValues<Node> =
  Node extends Section<infer E>
    ? { readonly [Key in keyof E as CoreName<E[Key]>]: E[Key] extends Setting<infer T> ? T : never }
    : never

/** Returns the values of these settings, by the names of the core. */
export function readCoreValues<Node extends Section>(section: Node, values: ValueOf<Node>): CoreValues<Node> {
  const byKey = values as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(section.entries).flatMap(([key, entry]) =>
      'core' in entry && entry.core !== undefined ? [[entry.core, byKey[key]]] : [],
    ),
  ) as CoreValues<Node>
}
