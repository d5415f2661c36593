import type { HeldSetting } from './check/check-settings.ts'
import type { GodwitConfig } from './godwit-config.ts'
import type { Engine, AppliesOn } from './schema/setting.ts'
import { parseHocon } from './hocon/parse-hocon.ts'
import { toPlain, type PlainValue } from './hocon/values.ts'

/** What stands in the place of a secret. */
export const mask = '******'

/** One setting that two configurations differ in. Values are as in a file; secrets are masked; undefined: not there. */
export interface Difference {
  readonly key: string
  readonly old: string | undefined
  readonly new: string | undefined
  /** When the new value begins to count. */
  readonly takes: AppliesOn
  /** Whether something works on it yet. */
  readonly engine: Engine
  /** False: the default of something that is new, or gone. */
  readonly isSaid: boolean
}

/** The settings that `after` has otherwise than `before`, in the order of the reference. */
export function differences(before: GodwitConfig, after: GodwitConfig): readonly Difference[] {
  const keys = new Set([...before.held.keys(), ...after.held.keys()])
  const found: Difference[] = []
  for (const key of keys) {
    const old = before.held.get(key)
    const now = after.held.get(key)
    if (old?.text === now?.text) continue
    const { takes, engine } = now ?? old ?? { takes: 'at-restart', engine: 'present' }
    const isSaid = old === undefined ? now?.isDefault === false : now !== undefined || !old.isDefault
    found.push({ key, old: show(old), new: show(now), takes, engine, isSaid })
  }
  return found
}

/** Of a listener or a bridge as a whole. */
const enabledKeys = /^(?:listeners|bridges)\.\w+\.[^.]+\.enable$/

/** What becomes of differences, as an operator is told. */
export interface ApplyResult {
  readonly changed: readonly Difference[]
  readonly needsRestart: readonly Difference[]
  readonly withoutEngine: readonly Difference[]
}

/**
 * `live`: those of `found` that hold now. Of a listener or a bridge that is new or gone is told whether it was on, and what
 * was said of it, and none of its many defaults.
 */
export function applyResultOf(found: readonly Difference[], live: readonly Difference[]): ApplyResult {
  const told = found.filter(({ isSaid, engine, key }) => isSaid || (engine === 'present' && enabledKeys.test(key)))
  const held = new Set(live)
  const others = told.filter((difference) => !held.has(difference))
  return {
    changed: told.filter((difference) => held.has(difference)),
    needsRestart: others.filter(({ engine }) => engine === 'present'),
    withoutEngine: others.filter(({ engine }) => engine === 'none yet'),
  }
}

/** Every setting of a configuration with its value, secrets masked. */
export function describeConfig(config: GodwitConfig): ReadonlyMap<string, string> {
  return new Map([...config.held].map(([key, setting]) => [key, show(setting) ?? '']))
}

/** A value as JSON knows it; durations, sizes and the like are text as in a file. Objects have no prototype. */
export type DescribedValue = PlainValue

interface Description {
  [key: string]: DescribedValue | Description
}

/**
 * The whole configuration as one object, each section an object in it, secrets masked. Read as a configuration it is the
 * same again, but for what is masked.
 */
export function describeAsObject(config: GodwitConfig): Readonly<Record<string, DescribedValue>> {
  const whole: Description = Object.create(null) as Description
  const listeners = new Set(config.listeners.map(({ kind, name }) => `${kind} ${name}`))
  for (const setting of config.held.values()) {
    if (isUnusedListener(setting, listeners)) continue
    const names = setting.path.slice(0, -1)
    let place = whole
    for (const name of names) place = (place[name] ??= Object.create(null) as Description) as Description
    const [last] = setting.path.slice(-1)
    if (last !== undefined) place[last] = valueOf(setting)
  }
  return whole
}

/** Where a listener is described there is one: settings of those that nobody has asked for are not shown. */
function isUnusedListener(
  { path: [section, kind, name], isDefault }: HeldSetting,
  listeners: ReadonlySet<string>,
): boolean {
  if (section !== 'listeners' || !isDefault) return false
  return !listeners.has(`${kind ?? ''} ${name ?? ''}`) && !listeners.has(`${kind ?? ''} default`)
}

function valueOf(setting: HeldSetting): DescribedValue {
  const text = show(setting) ?? ''
  if (text === mask) return mask
  const parsed = parseHocon(`value = ${text}`, { file: '' })
  const value = 'value' in parsed ? parsed.value.entries.get('value') : undefined
  return value === undefined ? text : toPlain(value)
}

function show(setting: HeldSetting | undefined): string | undefined {
  // A secret that is not set is not a secret: it may be seen that there is none.
  return setting === undefined || !setting.isSecret || setting.isDefault ? setting?.text : mask
}
