// Reads package.json of a plugin. It is external data: each field is checked, and an error names the field, the wrong value and the remedy.

import { parseTopicFilter } from '../../protocol/index.ts'
import { quoteText } from '../../values/index.ts'
import { BadPlugin } from './bad-plugin.ts'
import { pluginLimits } from './plugin-limits.ts'
import {
  type HookName,
  hookNames,
  pluginApiVersion,
  type PluginManifest,
  type PluginPermission,
} from './plugin-manifest.ts'
import { parsePermission } from './plugin-permissions.ts'

/** What package.json says. */
export interface ParsedPackage {
  readonly manifest: PluginManifest
  /** Names of packages that must be in the archive. */
  readonly dependencies: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>

const namePattern = /^[a-z][a-z0-9._-]{0,63}$/
// https://semver.org, "Is there a suggested regular expression"
const versionPattern =
  /^(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})(?:-(?:0|[1-9]\d{0,8}|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d{0,8}|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/
const maxVersionLength = 64

/** `reservedNames`: keys of the section `plugins` of the configuration. Throws BadPlugin. */
export function parseManifest(text: string, reservedNames: ReadonlySet<string>): ParsedPackage {
  const fields = parseObject(text)
  const name = parseName(fields['name'], reservedNames)
  const version = requireText(fields, 'version')
  if (version.length > maxVersionLength || !versionPattern.test(version)) {
    throw new BadPlugin(
      `package.json: version ${quoteText(version)} is not a semantic version: write, for example, 1.0.0`,
    )
  }
  if (fields['type'] !== 'module') throw new BadPlugin('package.json: type is not "module": add "type": "module"')
  refuseInstallScripts(fields, 'package.json')
  const own = readSection(fields)
  const manifest: PluginManifest = {
    name,
    version,
    api: pluginApiVersion,
    hooks: parseHooks(own['hooks']),
    topics: parseFilters(own['topics']),
    clients: parseTexts(own['clients'], 'clients'),
    listeners: parseTexts(own['listeners'], 'listeners'),
    configSchema: own['config'] === undefined ? undefined : parsePath(own['config'], 'godwit.config'),
    permissions: parsePermissions(own['permissions']),
    main: parsePath(requireText(fields, 'main'), 'main'),
    description: readOptionalText(fields['description']),
    author: readAuthor(fields['author']),
  }
  return { manifest, dependencies: listDependencies(fields) }
}

const sectionKeys: ReadonlySet<string> = new Set([
  'api',
  'hooks',
  'topics',
  'clients',
  'listeners',
  'config',
  'permissions',
])

function readSection(fields: Fields): Fields {
  const section = fields['godwit']
  if (!isObject(section)) {
    throw new BadPlugin('package.json has no section "godwit": it is not a plugin, or add {"api": 1, "hooks": [...]}')
  }
  const unknown = Object.keys(section).find((key) => !sectionKeys.has(key))
  if (unknown !== undefined) {
    throw new BadPlugin(
      `package.json: godwit.${quoteText(unknown)} is not a known key: known are ${[...sectionKeys].join(', ')}`,
    )
  }
  if (section['api'] !== pluginApiVersion) {
    throw new BadPlugin(
      `package.json: godwit.api is ${formatValue(section['api'])}, and this broker has the interface ${pluginApiVersion}: use a plugin for it`,
    )
  }
  return section
}

/** Refuses scripts that npm would run at an installation. The broker runs none, so the package would be incomplete. Throws BadPlugin. */
export function refuseInstallScripts(fields: Fields, path: string): void {
  const scripts = fields['scripts']
  if (!isObject(scripts)) return
  const script = ['preinstall', 'install', 'postinstall'].find((key) => scripts[key] !== undefined)
  if (script === undefined) return
  throw new BadPlugin(
    `${path} has the script ${script}, which no installation runs: build the package before it is packed, and remove the script`,
  )
}

/** Returns the fields of a package.json. Throws BadPlugin. */
export function parseObject(text: string, path = 'package.json'): Fields {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // The text is reported below: what JSON.parse says may quote any part of it.
  }
  throw new BadPlugin(`${path} is not a JSON object: repair the file`)
}

function parseName(value: unknown, reserved: ReadonlySet<string>): string {
  if (typeof value !== 'string') throw new BadPlugin('package.json has no name: add it')
  const name = value.replace(/^@([^/]*)\//, '$1-')
  if (!namePattern.test(name)) {
    throw new BadPlugin(
      `package.json: name ${quoteText(value)} is invalid: a lower-case letter, then at most 63 letters, digits, dots, hyphens and underscores`,
    )
  }
  if (reserved.has(name)) {
    throw new BadPlugin(`package.json: name ${quoteText(name)} is a setting of the section plugins: rename the plugin`)
  }
  return name
}

function requireText(fields: Fields, key: string): string {
  const value = fields[key]
  if (typeof value === 'string' && value !== '') return value
  throw new BadPlugin(`package.json: ${key} is missing or is not a text: add it`)
}

function readOptionalText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? toShortLine(value) : undefined
}

/** npm allows a text, or an object with a name. */
function readAuthor(value: unknown): string | undefined {
  return readOptionalText(isObject(value) ? value['name'] : value)
}

function toShortLine(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, pluginLimits.maxTextLength)
}

function parsePath(value: unknown, key: string): string {
  if (typeof value !== 'string') throw new BadPlugin(`package.json: ${key} is not a path: write one within the package`)
  const path = value.replace(/^\.\//, '')
  const isWithin = path !== '' && path.split('/').every((level) => level !== '' && level !== '.' && level !== '..')
  if (isWithin && !/[\p{Cc}\\]/u.test(path) && Buffer.byteLength(path) <= pluginLimits.maxPathBytes) return path
  throw new BadPlugin(`package.json: ${key} ${quoteText(value)} is not a path within the package`)
}

function parseHooks(value: unknown): readonly HookName[] {
  const names = parseTexts(value, 'hooks')
  if (names.length === 0) throw new BadPlugin('package.json: godwit.hooks is empty: name the hooks that the plugin has')
  return names.map((name) => {
    const hook = hookNames.find((known) => known === name)
    if (hook !== undefined) return hook
    throw new BadPlugin(
      `package.json: godwit.hooks: ${quoteText(name)} is not a hook: hooks are ${hookNames.join(', ')}`,
    )
  })
}

function parseFilters(value: unknown): readonly string[] {
  const filters = parseTexts(value, 'topics')
  const invalid = filters.find(
    (filter) => parseTopicFilter(filter) === undefined || /^\$(?:share|exclusive)\//.test(filter),
  )
  if (invalid === undefined) return filters
  throw new BadPlugin(`package.json: godwit.topics: ${quoteText(invalid)} is not a topic filter`)
}

function parsePermissions(value: unknown): readonly PluginPermission[] {
  return parseTexts(value, 'permissions').map((text) => {
    const permission = parsePermission(text)
    if ('problem' in permission) throw new BadPlugin(`package.json: godwit.permissions: ${permission.problem}`)
    return permission
  })
}

/** Returns a list of different texts; absent: an empty one. */
function parseTexts(value: unknown, key: string): readonly string[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || !value.every((item): item is string => typeof item === 'string' && item !== '')) {
    throw new BadPlugin(`package.json: godwit.${key} is not a list of texts`)
  }
  if (value.length > pluginLimits.maxEntries) {
    throw new BadPlugin(`package.json: godwit.${key} has ${value.length} entries; maximum ${pluginLimits.maxEntries}`)
  }
  return [...new Set(value)]
}

function listDependencies(fields: Fields): readonly string[] {
  const dependencies = fields['dependencies']
  if (dependencies === undefined) return []
  if (!isObject(dependencies)) throw new BadPlugin('package.json: dependencies is not an object')
  const names = Object.keys(dependencies)
  if (names.length <= pluginLimits.maxEntries) return names
  throw new BadPlugin(`package.json: it has ${names.length} dependencies; maximum ${pluginLimits.maxEntries}`)
}

function formatValue(value: unknown): string {
  return value === undefined ? 'missing' : quoteText(JSON.stringify(value))
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
