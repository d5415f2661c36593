// The schema of the configuration as one tree. The check of a file, the defaults, the example file, the reference page, the JSON Schema and
// the masking of secrets are derived from it.
//
//   section ── entries: mqtt, log, ...           a key each
//      │       named: listeners.tcp.<name>       any name, all of one shape
//      └── setting ── type, default, words

import type { SettingType } from './setting-type.ts'

/** The time from which a changed value applies. */
export type AppliesOn = 'at-once' | 'on-next-connect' | 'at-restart'

export interface Setting<T> {
  readonly kind: 'setting'
  readonly type: SettingType<T>
  readonly default: T
  /** Description of the default, if a value would say less: "the number of cores". */
  readonly defaultWords: string | undefined
  readonly description: string
  /** Unit of the number, if the type does not include it: "seconds". */
  readonly unit: string | undefined
  readonly appliesOn: AppliesOn
  /** Never shown: not in differences, not in messages. */
  readonly isSecret: boolean
  /** Only the configuration file and `--set` may change it, not the API. */
  readonly isLocal: boolean
  /** A new entry of the named section needs it: without it, the entry is refused. */
  readonly isRequired: boolean
  /** Why the setting has no effect: see `ignored-settings.ts`; undefined: it has an effect. */
  readonly ignored: string | undefined
}

export interface Entries {
  readonly [key: string]: SchemaNode
}

export interface Section<E extends Entries = Entries, N extends SchemaNode | undefined = SchemaNode | undefined> {
  readonly kind: 'section'
  readonly description: string
  readonly entries: E
  /** Schema of keys that are not among the entries. */
  readonly named: N
  /** Stands for such a key in the reference: "name". */
  readonly placeholder: string
  /** Such keys may end in the name of a namespace: `hook@plant`. */
  readonly isOfNamespaces?: boolean | undefined
  /** Such keys may contain dots: then they are quoted in a file. */
  readonly namesHaveDots?: boolean | undefined
  /** The word `none` stands for the section without its entries. */
  readonly canBeNone?: boolean | undefined
  /** True if the contents are stored unchecked, for a feature that does not exist yet. */
  readonly isOpen: boolean
  /** Why the whole section has no effect; undefined: it has an effect. */
  readonly ignored: string | undefined
}

export type SchemaNode = Setting<unknown> | Section

/** Values of a part of the tree. `isSet`, `isSetItself` and `named` are not keys of any section. */
export type ValueOf<Node> =
  Node extends Setting<infer T>
    ? T
    : Node extends Section<infer E, infer N>
      ? { readonly [Key in keyof E]: ValueOf<E[Key]> } & {
          /** The section is written, possibly empty. */
          readonly isSet: boolean
          /** True if entries of the section itself are written, not only named ones. */
          readonly isSetItself: boolean
          /** Named entries, in the order of writing. */
          readonly named: ReadonlyMap<string, ValueOf<N>>
        }
      : never

/** A setting, and the field of a module's settings that has its value unchanged: see `setting-fields.ts`. */
export type SettingWithField<T, Field extends string | undefined> = Setting<T> & { readonly field: Field }

export interface SettingWords<Field extends string | undefined = undefined> {
  readonly field?: Field
  readonly description: string
  readonly unit?: string
  readonly appliesOn?: AppliesOn
  readonly defaultWords?: string
  readonly isSecret?: boolean
  readonly isLocal?: boolean
  readonly isRequired?: boolean
}

/** One setting: its type, default and description. */
export function setting<T, const Field extends string | undefined = undefined>(
  type: SettingType<T>,
  defaultValue: T,
  options: SettingWords<Field>,
): SettingWithField<T, Field> {
  return {
    kind: 'setting',
    field: options.field as Field,
    type,
    default: defaultValue,
    defaultWords: options.defaultWords,
    description: options.description,
    unit: options.unit,
    appliesOn: options.appliesOn ?? 'at-restart',
    isSecret: options.isSecret ?? false,
    isLocal: options.isLocal ?? false,
    isRequired: options.isRequired ?? false,
    ignored: undefined,
  }
}

/** A group of settings. */
export function section<E extends Entries>(description: string, entries: E): Section<E, undefined> {
  return { kind: 'section', description, entries, named: undefined, placeholder: '', isOpen: false, ignored: undefined }
}

/** A group of settings that may be written as `none`. */
export function sectionOrNone<E extends Entries>(description: string, entries: E): Section<E, undefined> {
  return { ...section(description, entries), canBeNone: true }
}

/** The same, and every setting in it applies while the broker runs. */
export function appliedAtOnce<Node extends SchemaNode>(node: Node): Node {
  if (node.kind === 'setting') return { ...node, appliesOn: 'at-once' }
  const entries = Object.fromEntries(Object.entries(node.entries).map(([key, entry]) => [key, appliedAtOnce(entry)]))
  return { ...node, entries, named: node.named === undefined ? undefined : appliedAtOnce(node.named) }
}

/** A group with any number of named entries of one shape, next to settings of its own. */
export function namedSection<E extends Entries, N extends SchemaNode>(
  description: string,
  parts: {
    readonly entries: E
    readonly placeholder: string
    readonly named: N
    readonly isOfNamespaces?: boolean
    readonly namesHaveDots?: boolean
  },
): Section<E, N> {
  const { entries, named, placeholder, isOfNamespaces, namesHaveDots } = parts
  return {
    kind: 'section',
    description,
    entries,
    named,
    placeholder,
    isOfNamespaces,
    namesHaveDots,
    isOpen: false,
    ignored: undefined,
  }
}

/** A group whose keys are not looked at yet. */
export function openSection(description: string): Section<Entries, undefined> {
  return {
    kind: 'section',
    description,
    entries: {},
    named: undefined,
    placeholder: '',
    isOpen: true,
    ignored: undefined,
  }
}
