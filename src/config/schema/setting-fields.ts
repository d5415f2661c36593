// Settings that a module takes as they are: the entry of the setting names the field of the module's settings. Type, default, limits and
// description are those of the entry, and are not repeated.
//
//   max_streams: setting(integer(...), 16, { field: 'maxDataStreams', ... })   ──►   { readonly maxDataStreams: number }

import type { Entries, Setting } from './setting.ts'

type FieldName<Node> = Node extends { readonly field: infer Name extends string } ? Name : never

/** The fields that a table of settings defines, with their types. */
export type SettingFields<E> = {
  readonly [Key in keyof E as FieldName<E[Key]>]: E[Key] extends Setting<infer T> ? T : never
}

/** Fields that may be missing, for objects that are also created otherwise than from the configuration. */
export type OptionalFields<F> = { readonly [Name in keyof F]?: F[Name] | undefined }

/** The values from which the fields are read. */
type FieldSources<E> = {
  readonly [Key in keyof E as FieldName<E[Key]> extends never ? never : Key]: E[Key] extends Setting<infer T>
    ? T
    : never
}

/** Returns the values of these settings, by the names of their fields. */
export function readSettingFields<E extends Entries>(entries: E, values: FieldSources<E>): SettingFields<E> {
  const byKey = values as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(entries).flatMap(([key, entry]) =>
      'field' in entry && entry.field !== undefined ? [[entry.field, byKey[key]]] : [],
    ),
  ) as SettingFields<E>
}

/** Returns the defaults of these settings, by the names of their fields. */
export function readDefaultFields<E extends Entries>(entries: E): SettingFields<E> {
  const defaults = Object.entries(entries).map(([key, entry]) => [key, 'default' in entry ? entry.default : undefined])
  return readSettingFields(entries, Object.fromEntries(defaults) as FieldSources<E>)
}
