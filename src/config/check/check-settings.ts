// Checks a tree of values against the schema: unknown keys, invalid values, settings without effect; and returns all
// values with defaults. It collects every error and throws nothing.

import { createConfigError, quoteForMessage, type ConfigError, type Warning } from '../hocon/config-errors.ts'
import { hoconLimits } from '../hocon/hocon-limits.ts'
import { toPlain, type ConfigObject, type ConfigValue, type Position } from '../hocon/config-values.ts'
import { toScalarText } from '../schema/setting-type.ts'
import type { NamedPath } from '../schema/named-path.ts'
import type { SchemaNode, Section, Setting, AppliesOn, ValueOf } from '../schema/setting.ts'
import { findNearestKey } from './find-nearest-key.ts'
import { walkSchema } from './walk-schema.ts'

/** One setting with its value. */
export interface SettingText {
  /** The parts of its key: a name among them may contain dots. */
  readonly path: readonly string[]
  /** The value as in a configuration file. */
  readonly text: string
  readonly isDefault: boolean
  readonly isSecret: boolean
  /** The API cannot change it. */
  readonly isLocal: boolean
  /** Files and directories in its value. */
  readonly paths: readonly NamedPath[]
  readonly appliesOn: AppliesOn
  readonly hasEffect: boolean
}

export interface Checked<Node> {
  readonly values: ValueOf<Node>
  /** Every setting with a value, by its dotted key. */
  readonly settingTexts: ReadonlyMap<string, SettingText>
  readonly errors: readonly ConfigError[]
  readonly warnings: readonly Warning[]
  /** Positions of the written settings, for checks across several of them. */
  readonly places: ReadonlyMap<string, Position>
}

/** Names of listeners, bridges and so on: short, and without characters that need quotes in a key. */
const nameForm = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/
const nameWithDotsForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/
/** Form of the name of something in a namespace, such as `hook@plant`. */
const nameOfNamespaceForm = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}@[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Checks `value` against the schema below `root`. */
export function checkSettings<Node extends Section>(root: Node, value: ConfigObject): Checked<Node> {
  const checker = new SettingsChecker(root)
  const values = checker.check(root, value, '', false) as ValueOf<Node>
  return {
    values,
    settingTexts: checker.settingTexts,
    errors: checker.errors,
    warnings: checker.warnings,
    places: checker.places,
  }
}

/** Maximum number of unknown settings for which a similar key is searched. */
const maxSuggestions = 10

/** A valid named section, such as one rule, with everything that its check has found. */
interface CheckedPart {
  readonly node: SchemaNode
  readonly key: string
  readonly isWarned: boolean
  readonly value: unknown
  readonly settingTexts: readonly (readonly [string, SettingText])[]
  readonly places: readonly (readonly [string, Position])[]
  readonly warnings: readonly Warning[]
}

/**
 * Named sections that were checked. A change of the configuration checks all of it, and layers share the values of what has not changed: so
 * a change of one of a thousand rules checks one rule.
 */
const checkedParts = new WeakMap<ConfigObject, CheckedPart>()

class SettingsChecker {
  readonly errors: ConfigError[] = []
  readonly warnings: Warning[] = []
  settingTexts = new Map<string, SettingText>()
  places = new Map<string, Position>()
  readonly #root: SchemaNode
  #knownKeys: string[] | undefined
  /** Path of the part that is being checked. */
  readonly #path: string[] = []

  constructor(root: SchemaNode) {
    this.#root = root
  }

  /** `isWarned`: a section above was reported as having no effect. */
  check(node: SchemaNode, value: ConfigValue | undefined, key: string, isWarned: boolean): unknown {
    const written = value?.kind === 'null' ? undefined : value
    if (written !== undefined && node.ignored !== undefined && !isWarned) {
      this.warnings.push(
        createConfigError(
          written.at,
          key,
          `accepted without effect: ${node.ignored}`,
          describeIgnoredSettings(node, written),
        ),
      )
    }
    const isWarnedHere = isWarned || node.ignored !== undefined
    return node.kind === 'setting'
      ? this.#checkSetting(node, written, key, isWarnedHere)
      : this.#checkSection(node, written, key, isWarnedHere)
  }

  #checkSetting(setting: Setting<unknown>, value: ConfigValue | undefined, key: string, isIdle: boolean): unknown {
    const hasEffect = !isIdle
    if (value === undefined) {
      this.#recordSetting(key, { setting, hasEffect }, setting.default, true)
      return setting.default
    }
    this.places.set(key, value.at)
    const read = setting.type.read(value)
    if ('value' in read) {
      if (read.warning !== undefined) this.warnings.push(createConfigError(value.at, key, read.warning))
      this.#recordSetting(key, { setting, hasEffect }, read.value, false)
      return read.value
    }
    const message = setting.isSecret ? `the value is not ${setting.type.name}` : read.problem
    this.#refuse(read.at ?? value.at, key, message, `the default is ${describeDefault(setting)}`)
    return setting.default
  }

  #recordSetting(
    key: string,
    { setting, hasEffect }: { readonly setting: Setting<unknown>; readonly hasEffect: boolean },
    value: unknown,
    isDefault: boolean,
  ): void {
    const { isLocal, appliesOn, type } = setting
    // "none" in a file is not secret: masked, it would look like a password.
    const isSecret = setting.isSecret && value !== undefined
    const paths = type.listPaths?.(value) ?? noPaths
    const text = type.show(value)
    this.settingTexts.set(key, {
      path: [...this.#path],
      text,
      isDefault,
      isSecret,
      isLocal,
      paths,
      appliesOn,
      hasEffect,
    })
  }

  #checkSection(node: Section, value: ConfigValue | undefined, key: string, isWarned: boolean): object {
    if (value !== undefined && value.kind !== 'object') {
      if (node.canBeNone === true && toScalarText(value) === 'none')
        return this.#checkSection(node, undefined, key, isWarned)
      const known = Object.keys(node.entries).slice(0, 3).join(', ')
      const hint = known === '' ? '' : `write ${key} { ... } with settings such as ${known}`
      this.#refuse(value.at, key, 'this is a group of settings, not a value', hint)
      return this.#checkSection(node, undefined, key, isWarned)
    }
    if (node.isOpen) {
      if (value !== undefined) this.#recordOpenSection(key, value)
      return { isSet: value !== undefined, isSetItself: value !== undefined, named: new Map() }
    }
    const prefix = key === '' ? '' : `${key}.`
    const values: Record<string, unknown> = {}
    for (const [name, entry] of Object.entries(node.entries)) {
      this.#path.push(name)
      values[name] = this.check(entry, value?.entries.get(name), `${prefix}${name}`, isWarned)
      this.#path.pop()
    }
    const named = new Map<string, unknown>()
    for (const [name, part] of value?.entries ?? []) {
      if (Object.hasOwn(node.entries, name)) continue
      if (node.named?.kind === 'section' && named.size >= hoconLimits.maxNamedGroups) {
        this.#refuse(part.at, key, `more than ${hoconLimits.maxNamedGroups} names`, 'keep fewer in one configuration')
        break
      }
      const found = this.#checkNamed(node, name, part, { prefix, isWarned })
      if (found !== undefined) named.set(name, found)
    }
    const isSetItself = value !== undefined && (value.entries.size === 0 || value.entries.size > named.size)
    return { ...values, isSet: value !== undefined, isSetItself, named }
  }

  #checkNamed(
    node: Section,
    name: string,
    value: ConfigValue,
    { prefix, isWarned }: { readonly prefix: string; readonly isWarned: boolean },
  ): unknown {
    const { named } = node
    // Null does not delete an entry of another layer of the configuration.
    if (named?.kind === 'section' && value.kind === 'null') return undefined
    // A single value below names of one shape is probably a mistyped setting next to them.
    if (named === undefined || (named.kind === 'section' && value.kind !== 'object')) {
      this.#refuseUnknown(node, name, value, prefix)
      return undefined
    }
    const form = node.namesHaveDots === true ? nameWithDotsForm : nameForm
    const isName = form.test(name) || (node.isOfNamespaces === true && nameOfNamespaceForm.test(name))
    if (named.kind === 'section' && !isName) {
      const message = `${quoteForMessage(name)} is not a ${node.placeholder}`
      this.#refuse(value.at, prefix + name, message, 'use up to 64 letters, digits, _ and -')
      return undefined
    }
    this.#path.push(name)
    const found =
      named.kind === 'section' && value.kind === 'object'
        ? this.#checkPart(named, value, prefix + name, isWarned)
        : this.check(named, value, prefix + name, isWarned)
    this.#path.pop()
    return found
  }

  /** Checks a named section, unless it was checked before. */
  #checkPart(node: Section, value: ConfigObject, key: string, isWarned: boolean): unknown {
    const known = checkedParts.get(value)
    if (known?.node === node && known.key === key && known.isWarned === isWarned) {
      for (const [setting, text] of known.settingTexts) this.settingTexts.set(setting, text)
      for (const [setting, place] of known.places) this.places.set(setting, place)
      this.warnings.push(...known.warnings)
      return known.value
    }
    const { settingTexts, places, errors, warnings } = this
    const [errorsBefore, warningsBefore] = [errors.length, warnings.length]
    this.settingTexts = new Map()
    this.places = new Map()
    const checked = this.check(node, value, key, isWarned)
    const part = { settingTexts: [...this.settingTexts], places: [...this.places] }
    this.settingTexts = settingTexts
    this.places = places
    for (const [setting, text] of part.settingTexts) settingTexts.set(setting, text)
    for (const [setting, place] of part.places) places.set(setting, place)
    // At the maximum, further errors are not recorded.
    if (errors.length === errorsBefore && errorsBefore < hoconLimits.maxErrors)
      checkedParts.set(value, {
        node,
        key,
        isWarned,
        value: checked,
        ...part,
        warnings: warnings.slice(warningsBefore),
      })
    return checked
  }

  #refuseUnknown(node: Section, name: string, value: ConfigValue, prefix: string): void {
    // With more errors it is not a configuration of Godwit, and searching similar keys takes time.
    if (this.errors.length >= hoconLimits.maxErrors) return
    const nearest = findNearestKey(name, Object.keys(node.entries))
    const meant = nearest === undefined ? this.#findInOtherSections(name, prefix + name) : prefix + nearest
    const known = Object.keys(node.entries).slice(0, 40).join(', ')
    const hint = meant === undefined ? `known here: ${known}` : `did you mean ${meant}?`
    this.#refuse(value.at, prefix + name, 'there is no such setting', hint)
  }

  #refuse(at: Position, key: string, message: string, hint: string): void {
    if (this.errors.length < hoconLimits.maxErrors) this.errors.push(createConfigError(at, key, message, hint))
  }

  /** Returns the only known key that ends in the same word, or one that is similar to the whole key. */
  #findInOtherSections(name: string, key: string): string | undefined {
    // With many unknown keys, typing errors are unlikely, and comparing each with all known ones takes time.
    if (this.errors.length >= maxSuggestions) return undefined
    this.#knownKeys ??= [...walkSchema(this.#root)].map((entry) => entry.key).filter((known) => known !== '')
    const ending = this.#knownKeys.filter((known) => known.endsWith(`.${name}`))
    return ending.length === 1 ? ending[0] : findNearestKey(key, ending.length > 0 ? ending : this.#knownKeys)
  }

  /** The contents of an open group are compared and never shown, because they may be anything. */
  #recordOpenSection(key: string, value: ConfigValue): void {
    const text = JSON.stringify(toPlain(value))
    const isHeld = {
      isDefault: false,
      isSecret: true,
      isLocal: false,
      appliesOn: 'at-restart',
      hasEffect: false,
    } as const
    this.settingTexts.set(key, { path: [...this.#path], text, paths: noPaths, ...isHeld })
  }
}

const noPaths: readonly NamedPath[] = []

const namesShown = 20

/** Returns the ignored settings of a group that were written. */
function describeIgnoredSettings(node: SchemaNode, value: ConfigValue): string {
  // If each key is a user's name, as in auth.password, it must not be shown.
  const isNamed = node.kind === 'section' && node.named?.kind === 'setting'
  if (value.kind !== 'object' || value.entries.size === 0 || isNamed) return ''
  const names = [...value.entries.keys()]
  const more = names.length > namesShown ? `, and ${names.length - namesShown} more` : ''
  return `these are ignored: ${names.slice(0, namesShown).join(', ')}${more}`
}

/** The default as text, or as it would be written. */
export function describeDefault(setting: Setting<unknown>): string {
  return setting.defaultWords ?? setting.type.show(setting.default)
}
