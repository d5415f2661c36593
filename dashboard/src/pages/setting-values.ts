// Settings as a reader writes them, as the JSON that the API takes.

export interface EditedSetting {
  readonly path: readonly string[]
  /** As in a configuration file. */
  readonly text: string
  /** Definition of the setting in the schema. */
  readonly setting?: { readonly type: string; readonly lines: boolean }
}

interface Section {
  [name: string]: unknown
}

/**
 * Sections within sections, beside what is in `base`. Objects without a prototype: a name among the keys may be
 * anything.
 */
export function createSettingsObject(edited: readonly EditedSetting[], base: object = {}): Record<string, unknown> {
  const whole: Section = Object.assign(Object.create(null) as Section, structuredClone(base))
  for (const { path, text, setting } of edited) {
    let place = whole
    for (const name of path.slice(0, -1)) place = (place[name] ??= Object.create(null) as Section) as Section
    const last = path.at(-1)
    if (last !== undefined) place[last] = setting?.lines === true ? text : parseSettingValue(text, setting?.type)
  }
  return whole
}

/** A value of the API as a reader writes it, so that `parseSettingValue` reads it back. */
export function formatSettingValue(value: unknown, { lines }: { readonly lines: boolean }): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return !lines && (value === '' || /^["[{\s]|\s$/.test(value)) ? JSON.stringify(value) : value
}

/** undefined: there is none. */
export function findValue(settings: Readonly<Record<string, unknown>>, path: readonly string[]): unknown {
  let place: unknown = settings
  for (const name of path) {
    const isSection = typeof place === 'object' && place !== null && Object.hasOwn(place, name)
    if (!isSection) return undefined
    place = (place as Readonly<Record<string, unknown>>)[name]
  }
  return place
}

/** Lists, objects and quoted texts are read, of settings that are texts only the last; everything else is text, which the broker reads by the type of the setting. */
export function parseSettingValue(written: string, type = ''): unknown {
  const text = written.trim()
  if (!(type.startsWith('text') ? /^"/ : /^["[{]/).test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    // A list without quotes, as a configuration file has them.
    const list = /^\[(.*)\]$/s.exec(text)?.[1]
    if (list === undefined) return text
    return list.trim() === '' ? [] : list.split(',').map((item) => parseSettingValue(item))
  }
}
