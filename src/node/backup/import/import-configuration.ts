// The configuration of an archive: what of it applies to this broker, and the effect that it would have.

import type { CheckedArchive } from '../../../backup/index.ts'
import {
  type ConfigObject,
  formatConfigError,
  fromPlain,
  localSettings,
  type PlainValue,
} from '../../../config/index.ts'
import { isWellKnownPassword } from '../../admins/well-known-passwords.ts'
import { findBridgeProblem } from '../../bridges/bridge-config.ts'
import type { ConfigManager } from '../../configuration/config-manager.ts'
import { findListenerFileProblem } from '../../listeners/listener-addresses.ts'
import { placeFiles } from '../archived-files.ts'
import { type BackupRefusal, createRefusal } from '../backup-folder.ts'
import { parseConfiguration } from '../check-file.ts'
import { readProfile } from './import-permission.ts'
import { toOwnChange, scopeConfiguration, removeScope } from '../namespace-configuration.ts'
import { type ConfigurationChange, previewChanges } from '../preview-changes.ts'

interface Dependencies {
  readonly dataDirectory: string
  readonly configuration: ConfigManager
}

/** Returns why the configuration in an archive can never be applied here; undefined: it can, or there is none. */
export function checkConfiguration(dependencies: Dependencies, checked: CheckedArchive): BackupRefusal | undefined {
  const read = readConfiguration(dependencies, checked)
  if ('symbol' in read) return read
  const { settings, texts } = read
  const previewed = dependencies.configuration.previewSettings(settings, { texts, passesOverFiles: true })
  return 'live' in previewed ? undefined : refuseConfiguration(previewed.message, checked)
}

export interface PreparedConfiguration {
  /** Name of the account of `http_server` after the import. */
  readonly ownName: string
  readonly settings: ConfigObject | undefined
  readonly placed: ReadonlyMap<string, Buffer>
  readonly changes: readonly ConfigurationChange[]
  readonly warnings: readonly string[]
}

/** Tries the whole new configuration, with files that do not exist yet. */
export function prepareConfiguration(
  dependencies: Dependencies,
  plan: { readonly hasConfiguration: boolean; readonly hasFiles: boolean },
  checked: CheckedArchive,
): PreparedConfiguration | BackupRefusal {
  const read = readConfiguration(dependencies, checked)
  if ('symbol' in read) return read
  const { settings, placed, texts, warnings } = read
  const { config: before } = dependencies.configuration
  const files = plan.hasFiles || plan.hasConfiguration ? placed : new Map<string, Buffer>()
  if (!plan.hasConfiguration) {
    return { settings: undefined, placed: files, changes: [], warnings: [], ownName: before.http.username }
  }
  const previewed = dependencies.configuration.previewSettings(settings, { texts })
  if (!('live' in previewed)) return refuseConfiguration(previewed.message, checked)
  const unfit =
    findListenerFileProblem(previewed.config, before, placed) ?? findBridgeProblem(previewed.config, before, placed)
  if (unfit !== undefined) return refuseConfiguration(unfit, checked)
  const credentials = checked.counts.get('credentials') ?? 0
  const expected = previewChanges({
    before,
    after: previewed.config,
    archiveProfile: readProfile(checked),
    credentials,
  })
  const changes = [
    ...previewed.live.map(({ key, old, new: now }) => ({ key, old, new: now, needsRestart: false })),
    ...previewed.needsRestart.map(({ key, old, new: now }) => ({ key, old, new: now, needsRestart: true })),
  ]
  const ownName = previewed.config.http.username
  const { namespace } = checked.meta
  const shown = namespace === undefined ? changes : changes.map((change) => toOwnChange(change, namespace))
  return { settings, placed: files, changes: shown, warnings: [...warnings, ...expected], ownName }
}

function refuseConfiguration(message: string, checked: CheckedArchive): BackupRefusal {
  return createRefusal(
    'BAD_REQUEST',
    `the configuration of the archive cannot be used here: ${omitNamespace(message, checked)}`,
  )
}

/** Returns the text for a caller of a namespace: without the namespace in names of settings. */
export function omitNamespace(text: string, { meta: { namespace } }: Pick<CheckedArchive, 'meta'>): string {
  return namespace === undefined ? text : removeScope(text, namespace)
}

interface ReadConfiguration extends Pick<PreparedConfiguration, 'placed' | 'warnings'> {
  readonly settings: ConfigObject
  /** Contents of the files in `placed`. */
  readonly texts: ReadonlyMap<string, string>
}

/** Returns the parts of the archive's configuration that apply to this broker. */
function readConfiguration(dependencies: Dependencies, checked: CheckedArchive): ReadConfiguration | BackupRefusal {
  const read = parseConfiguration(checked)
  if ('problem' in read) return createRefusal('BAD_REQUEST', read.problem)
  const { plain = {} } = read
  const { namespace } = checked.meta
  const inBroker = namespace === undefined ? { scoped: plain } : scopeConfiguration(plain, namespace)
  if ('problem' in inBroker) return createRefusal('FORBIDDEN', inBroker.problem)
  const { configuration, placed, missing } = placeFiles(inBroker.scoped, { ...dependencies, files: checked.files })
  if (missing.length > 0) {
    return createRefusal(
      'BAD_REQUEST',
      `the configuration names files that are not in the archive: ${missing.join(', ')}`,
    )
  }
  const own = omitLocalSettings(dependencies.configuration, configuration as Readonly<Record<string, PlainValue>>)
  const { kept, warnings } = omitWellKnownPassword(dependencies.configuration, own)
  const made = fromPlain(kept, 'cluster.hocon')
  if ('errors' in made) return createRefusal('BAD_REQUEST', made.errors.map(formatConfigError).join('\n'))
  const texts = new Map([...placed].map(([path, content]) => [path, content.toString('utf8')]))
  return { settings: made.value, placed, texts, warnings: warnings.map((warning) => omitNamespace(warning, checked)) }
}

interface ConfigurationForHere {
  readonly kept: Readonly<Record<string, PlainValue>>
  readonly warnings: readonly string[]
}

/** On a hardened node a well-known password must not be restored, not even for loopback. The current one stays. */
function omitWellKnownPassword(
  { config }: ConfigManager,
  { kept, warnings }: ConfigurationForHere,
): ConfigurationForHere {
  const { http_server: section } = kept
  if (config.node.securityProfile !== 'hardened' || !isGroup(section)) return { kept, warnings }
  const { password, ...others } = section
  const username = typeof section['username'] === 'string' ? section['username'] : config.http.username
  if (typeof password !== 'string' || !isWellKnownPassword(username, password)) return { kept, warnings }
  const warning = `http_server.password is not restored, as it is a well-known password: if ${username} cannot log in then, use godwit ctl admins reset ${username}`
  return { kept: { ...kept, http_server: others }, warnings: [...warnings, warning] }
}

function isGroup(value: PlainValue | undefined): value is Readonly<Record<string, PlainValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Settings of `log` that say where its lines are: an import must not move them. */
const ownLogSettings: ReadonlySet<string | undefined> = new Set(['to', 'dir', 'file'])

/** Returns whether only the configuration file and `--set` may change the setting. */
function isLocal(path: readonly string[]): boolean {
  return localSettings.some((local) => local.join('.') === path.join('.'))
}

/** Removes settings that belong to the host, and settings that `--set` sets here. */
function omitLocalSettings(
  live: ConfigManager,
  configuration: Readonly<Record<string, PlainValue>>,
): ConfigurationForHere {
  const ignored: string[] = []
  const walk = (value: PlainValue, path: readonly string[]): PlainValue | undefined => {
    const isOwn = path[0] === 'node' || (path[0] === 'log' && ownLogSettings.has(path[1])) || isLocal(path)
    const isLeaf = value === null || typeof value !== 'object' || Array.isArray(value)
    if (isLeaf && (isOwn || live.isPinned(path))) {
      ignored.push(path.join('.'))
      return undefined
    }
    if (isLeaf) return value
    const kept = Object.create(null) as Record<string, PlainValue>
    for (const [key, part] of Object.entries(value)) {
      const walked = walk(part, [...path, key])
      if (walked !== undefined) kept[key] = walked
    }
    // A group that became empty is removed. A group that was empty in the archive stays: it is a setting.
    return Object.keys(kept).length === 0 && Object.keys(value).length > 0 ? undefined : kept
  }
  const kept = (walk(configuration, []) ?? {}) as Readonly<Record<string, PlainValue>>
  const warnings =
    ignored.length === 0
      ? []
      : [`not imported: ${ignored.join(', ')}. These settings are set with --set, or belong to the host of the broker`]
  return { kept, warnings }
}
