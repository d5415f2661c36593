// The configuration: operations of the node, and handlers.

import { type configurationEndpoints, type HotSettings, hotSettings } from './endpoints.ts'
import { type ReplyOf, shapeOf, type Caller } from '../../contract/index.ts'
import { type Handlers, type ApiError, refuse, shortened } from '../../management/index.ts'
import { isNanomqSection, nanomqSection, type NanomqSection, replacementSection } from './nanomq-sections.ts'
import { isSentObject, type Sent } from '../bridges/read-bridge-node.ts'
import type { DescribedSetting } from '../../config/index.ts'
import type { CertificateInForce } from '../../node/index.ts'

/** Configuration of the node, for the API. */
export interface ConfigurationOperations {
  /** The settings of `/reload`, in internal units. */
  hotSettings(): {
    readonly maxPropertyKibibytes: number
    readonly maxQueuedMessages: number
    readonly retryIntervalMs: number
    readonly allowsAnonymous: boolean
    readonly maxPacketBytes: number
    readonly clientMaxPacketBytes: number
    readonly keepAliveMultiplier: number
  }
  /** By section, each an object of settings; secrets masked. */
  sections(): Readonly<Record<string, unknown>>
  /**
   * Changes settings by section and key, as in `sections`; absent ones are unchanged. `act`: name of the change in the
   * history.
   */
  change(
    settings: Readonly<Record<string, unknown>>,
    options: { readonly by: Caller; readonly persists: boolean; readonly act: string },
  ): Promise<ConfigurationOutcome>
  /** Every setting with its definition, its value and its origin. */
  settings(): readonly ListedSetting[]
  /**
   * Settings of a new entry of a section (`connectors`) with their defaults; undefined: no such section has named entries.
   * `isKeptToNamespace`: only those that an account of a namespace can use.
   */
  settingsOfNew(section: string, options: { readonly isKeptToNamespace: boolean }): readonly ListedSetting[] | undefined
  /** Returns what a text would change if it replaced the configuration; nothing is changed. */
  previewText(text: string): readonly SettingDifference[] | ConfigurationRefusal
  replaceText(text: string, by: Caller): Promise<ConfigurationOutcome>
  /** Changes only the settings in `text` (HOCON). */
  mergeText(text: string, by: Caller): Promise<ConfigurationOutcome>
  /** Returns the effect of either. */
  tryText(text: string, how: { readonly merges: boolean }): Promise<ConfigurationOutcome>
  /** Drops stored changes, so that the file or the default applies again; removes named entries. */
  unset(
    keys: readonly string[],
    how: { readonly by: Caller; readonly isDryRun: boolean },
  ): Promise<ConfigurationOutcome>
  reload(by: Caller): Promise<ConfigurationOutcome>
  /** Returns the certificates of TLS listeners from their current files. */
  certificates(): readonly CertificateInForce[]
  /** Oldest first. */
  versions(): readonly ConfigurationVersion[]
  /** Returns the values of an existing version that differ from defaults; secrets masked. */
  textOf(number: number): string
  /** Differences between two existing versions. */
  differencesOf(from: number, to: number): readonly SettingDifference[]
  rollback(number: number, by: Caller): Promise<ConfigurationOutcome>
}

export interface ConfigurationVersion {
  readonly number: number
  readonly atMs: number
  readonly author: { readonly name: string; readonly by: string; readonly address: string }
  readonly act: string
  readonly changed: readonly string[]
}

export interface SettingDifference {
  readonly key: string
  readonly old: string | undefined
  readonly new: string | undefined
}

export interface ListedSetting extends Omit<DescribedSetting, 'place' | 'isDefault'> {
  readonly source: 'default' | 'file' | 'api' | 'command-line'
  /** File and line. */
  readonly place: string | undefined
}

type ConfigurationRefusal = Extract<ConfigurationOutcome, { readonly isDone: false }>

export type ConfigurationOutcome =
  | {
      readonly isDone: true
      readonly changed: readonly SettingDifference[]
      readonly needsRestart: readonly SettingDifference[]
      readonly withoutEffect: readonly SettingDifference[]
      readonly pinned: readonly string[]
      /** A sentence each, with position and key. */
      readonly warnings: readonly string[]
    }
  | {
      readonly isDone: false
      readonly why: 'empty' | 'not-hocon' | 'invalid' | 'not-written' | 'unknown-version' | 'forbidden'
      readonly message: string
    }

type Endpoints = typeof configurationEndpoints

/** `bridges`: as in `GET /bridges`. */
export function configurationHandlers(
  configuration: ConfigurationOperations,
  bridges: (areOfAws: boolean) => Promise<object>,
): Handlers<Endpoints> {
  return {
    ...reloadHandlers(configuration),
    ...sectionHandlers(configuration, bridges),
    ...historyHandlers(configuration),
    update_config: async ({ query: { merge: merges = false, dry_run: isDryRun = false }, body, caller }) => {
      if (isDryRun) return replyOf(await configuration.tryText(body, { merges }))
      return replyOf(await (merges ? configuration.mergeText(body, caller) : configuration.replaceText(body, caller)))
    },
    unset_settings: async ({ query: { dry_run: isDryRun = false }, body: { keys }, caller }) =>
      replyOf(await configuration.unset(keys, { by: caller, isDryRun })),
    get_configuration_schema: ({ query: { new: section }, caller: { namespace } }) => {
      const isKeptToNamespace = namespace !== undefined
      if (isKeptToNamespace && !sectionsOfNamespaces.has(section ?? '')) {
        const words = `this account is limited to the namespace ${namespace}: use new=connectors, new=actions or new=sources`
        return refuse('wrongCredentials', `this account is ${words}`, 403).withReason('UNAUTHORIZED_ROLE')
      }
      const settings =
        section === undefined ? configuration.settings() : configuration.settingsOfNew(section, { isKeptToNamespace })
      if (settings !== undefined) return { code: 0, data: settings.map(settingRow) }
      const words = 'has no named entries; sections that have some are connectors, actions, sources and listeners'
      return refuse('invalidParameter', `new: the section ${JSON.stringify(shortened(section ?? ''))} ${words}`)
    },
    check_configuration: ({ body }) => {
      const found = configuration.previewText(body)
      if ('isDone' in found) return refusalOf(found)
      return { code: 0, data: { changes: found.map(shownDifference) } }
    },
    reload_configuration: async ({ caller }) => {
      const reply = replyOf(await configuration.reload(caller))
      if (!('data' in reply)) return reply
      return { code: 0, data: { ...reply.data, certificates: configuration.certificates().map(shownCertificate) } }
    },
  }
}

/** Sections whose entries a namespace has too. */
const sectionsOfNamespaces: ReadonlySet<string> = new Set(['connectors', 'actions', 'sources'])

const hotShape = shapeOf(hotSettings)

function reloadHandlers(
  configuration: ConfigurationOperations,
): Pick<Handlers<Endpoints>, 'get_reload' | 'post_reload'> {
  return {
    get_reload: () => ({ code: 0, data: shownSettings(configuration) }),
    post_reload: async ({ body, caller }) => {
      const { data, persist: persists = false } = body
      if (data === undefined || data === null || typeof data !== 'object' || Array.isArray(data)) {
        return refuse('missingParameter', 'data is missing in the body: an object of settings, as GET returns them')
      }
      return changeHot(configuration, { sent: data, place: 'data' }, { by: caller, persists, act: 'reload' })
    },
  }
}

type Change = Parameters<ConfigurationOperations['change']>[1]

/** `place`: path of the settings in the body. */
async function changeHot(
  configuration: ConfigurationOperations,
  { sent, place }: { readonly sent: object; readonly place: string },
  change: Change,
): Promise<ReplyOf<Endpoints['update_config']> | ApiError> {
  const fault = hotShape.faultOf(sent)
  if (fault !== undefined) {
    return refuse('invalidParameter', `${place}${fault.path.replaceAll('/', '.')} in the body ${fault.message}`)
  }
  const settings = settingsOf(sent, shownSettings(configuration))
  const reply = replyOf(await configuration.change(settings, change))
  if (!('data' in reply)) return reply
  return { code: 0, data: { ...reply.data, warnings: [...unknownKeys(sent, place), ...reply.data.warnings] } }
}

/** Maximum number of unknown keys that are listed. */
const maxUnknownKeys = 10

/** A sentence for each key that is not a setting of `/reload`; clients of other brokers send further keys. */
function unknownKeys(sent: object, place: string): string[] {
  const known = Object.keys(hotSettings.properties)
  const unknown = Object.keys(sent).filter((key) => !known.includes(key))
  return unknown
    .slice(0, maxUnknownKeys)
    .map((key) => `${place}.${shortened(key)} is not known and was ignored; known: ${known.join(', ')}`)
}

const msPerSecond = 1_000
const bytesPerKibibyte = 1_024
const thousand = 1_000
/** A factor of a hundred is never intended: such numbers are thousandths. */
const minThousandths = 100

function shownSettings(configuration: ConfigurationOperations): Required<HotSettings> {
  const hot = configuration.hotSettings()
  return {
    property_size: hot.maxPropertyKibibytes,
    msq_len: hot.maxQueuedMessages,
    qos_duration: Math.ceil(hot.retryIntervalMs / msPerSecond),
    allow_anonymous: hot.allowsAnonymous,
    max_packet_size: Math.ceil(hot.maxPacketBytes / bytesPerKibibyte),
    client_max_packet_size: Math.ceil(hot.clientMaxPacketBytes / bytesPerKibibyte),
    keepalive_backoff: Math.round(hot.keepAliveMultiplier * thousand),
  }
}

/** Returns the settings by their own keys. Values sent back unchanged change nothing. */
function settingsOf(sent: HotSettings, shown: Required<HotSettings>): Record<string, Record<string, unknown>> {
  const mqtt: Record<string, unknown> = {}
  const auth: Record<string, unknown> = {}
  const news = <Key extends keyof HotSettings>(key: Key): HotSettings[Key] =>
    sent[key] === shown[key] ? undefined : sent[key]
  const put = (key: string, value: unknown, word: unknown): void => {
    if (value !== undefined) mqtt[key] = word
  }
  put('property_size', news('property_size'), sent.property_size)
  put('max_mqueue_len', news('msq_len'), sent.msq_len)
  put('retry_interval', news('qos_duration'), `${sent.qos_duration}s`)
  put('max_packet_size', news('max_packet_size'), `${sent.max_packet_size}KB`)
  put('client_max_packet_size', news('client_max_packet_size'), `${sent.client_max_packet_size}KB`)
  const factor = news('keepalive_backoff')
  put('keepalive_multiplier', factor, factor === undefined || factor < minThousandths ? factor : factor / thousand)
  if (news('allow_anonymous') !== undefined) auth['allow_anonymous'] = sent.allow_anonymous
  return {
    ...(Object.keys(mqtt).length > 0 ? { mqtt } : {}),
    ...(Object.keys(auth).length > 0 ? { auth } : {}),
  }
}

type SectionNames =
  | 'get_broker_configuration'
  | 'get_configuration_section'
  | 'set_broker_configuration'
  | 'set_configuration_section'

function sectionHandlers(
  configuration: ConfigurationOperations,
  bridges: (areOfAws: boolean) => Promise<object>,
): Pick<Handlers<Endpoints>, SectionNames> {
  const unknownSection = (section: string): ApiError | undefined => {
    const sections = Object.keys(configuration.sections())
    if (sections.includes(section)) return undefined
    const known = sections.join(', ')
    return refuse('rpcError', `there is no section ${JSON.stringify(section)}; there are ${known}`, 404)
  }
  const shownAsNanomq = (section: NanomqSection): Promise<object> =>
    nanomqSection(section, { sections: configuration.sections(), hot: shownSettings(configuration), bridges })
  const changeAsNanomq = async (section: NanomqSection, sent: unknown, change: Change) => {
    if (!isSentObject(sent))
      return refuse('invalidParameter', `data.${section} in the body is not an object of settings`)
    const shown = (await shownAsNanomq(section)) as Sent
    const other = Object.keys(sent).find((key) => {
      return !Object.hasOwn(hotSettings.properties, key) && JSON.stringify(sent[key]) !== JSON.stringify(shown[key])
    })
    if (other === undefined) return changeHot(configuration, { sent, place: `data.${section}` }, change)
    const words = `data.${section}.${other} in the body is not changed by this name; change ${replacementSection(section)}`
    return refuse('invalidParameter', words)
  }
  return {
    get_broker_configuration: () => ({ code: 0, data: { ...configuration.sections() } }),
    get_configuration_section: async ({ params: { section } }) => {
      if (isNanomqSection(section)) return { code: 0, data: { [section]: await shownAsNanomq(section) } }
      return unknownSection(section) ?? { code: 0, data: { [section]: configuration.sections()[section] } }
    },
    set_broker_configuration: async ({ body, caller }) => {
      return replyOf(await configuration.change(body.data, { by: caller, persists: true, act: 'configuration' }))
    },
    set_configuration_section: async ({ params: { section }, body, caller }) => {
      const isNanomqs = isNanomqSection(section)
      const unknown = isNanomqs ? undefined : unknownSection(section)
      if (unknown !== undefined) return unknown
      if (!Object.hasOwn(body.data, section)) {
        return refuse('missingParameter', `data.${section} is missing in the body: an object of settings`)
      }
      const other = Object.keys(body.data).find((key) => key !== section)
      if (other !== undefined) {
        return refuse('invalidParameter', `data.${other} in the body is not of the section ${section}`)
      }
      const change = { by: caller, persists: true, act: `configuration ${section}` }
      if (!isNanomqs) return replyOf(await configuration.change(body.data, change))
      return changeAsNanomq(section, body.data[section], change)
    },
  }
}

type HistoryNames =
  | 'list_configuration_history'
  | 'get_configuration_version'
  | 'diff_configuration'
  | 'rollback_configuration'

function historyHandlers(configuration: ConfigurationOperations): Pick<Handlers<Endpoints>, HistoryNames> {
  const find = (number: string): ConfigurationVersion | ApiError => {
    const found = configuration.versions().find((version) => String(version.number) === number)
    return found ?? refuse('invalidParameter', `configuration ${number.slice(0, 20)} is not in the history`, 404)
  }
  return {
    list_configuration_history: () => ({ code: 0, data: configuration.versions().map(shownVersion).toReversed() }),
    get_configuration_version: ({ params: { number } }) => {
      const version = find(number)
      if (!('atMs' in version)) return version
      return { code: 0, data: { ...shownVersion(version), text: configuration.textOf(version.number) } }
    },
    diff_configuration: ({ params: { number }, query }) => {
      const [from, to] = [find(number), find(String(query.to ?? configuration.versions().at(-1)?.number))]
      if (!('atMs' in from)) return from
      if (!('atMs' in to)) return to
      const changes = configuration.differencesOf(from.number, to.number).map(shownDifference)
      return { code: 0, data: { from: from.number, to: to.number, changes } }
    },
    rollback_configuration: async ({ params: { number }, caller }) => {
      const version = find(number)
      return 'atMs' in version ? replyOf(await configuration.rollback(version.number, caller)) : version
    },
  }
}

type Shown<List> = List extends readonly (infer Item)[] ? Item : never

function shownVersion({
  number,
  atMs,
  author,
  act,
  changed,
}: ConfigurationVersion): Shown<ReplyOf<Endpoints['list_configuration_history']>['data']> {
  const { name, by, address } = author
  return { number, at: new Date(atMs).toISOString(), by: name === '' ? by : name, address, act, changed: [...changed] }
}

function shownDifference({ key, old, new: now }: SettingDifference): { key: string; old?: string; new?: string } {
  return { key, ...(old === undefined ? {} : { old }), ...(now === undefined ? {} : { new: now }) }
}

function shownCertificate(
  certificate: CertificateInForce,
): Shown<ReplyOf<Endpoints['reload_configuration']>['data']['certificates']> {
  const { listener, file, problem } = certificate
  if (problem !== undefined) return { listener, file, state: 'not-used', problem }
  return { listener, file, state: 'in-force', ends: new Date(certificate.endsAtMs).toISOString() }
}

const refusals = {
  empty: 'missingParameter',
  'not-hocon': 'notHocon',
  invalid: 'invalidParameter',
  'not-written': 'configNotWritten',
} as const

type SchemaRow = ReplyOf<Endpoints['get_configuration_schema']>['data'][number]

function settingRow(setting: ListedSetting): SchemaRow {
  const { values, min, max, place, appliesOn, hasEffect, isSecret, isRequired, isLocal, hasLines, path, ...plain } =
    setting
  return {
    ...plain,
    path: [...path],
    ...(values === undefined ? {} : { values: [...values] }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(place === undefined ? {} : { place }),
    lines: hasLines,
    takes_hold: appliesOn,
    without_engine: !hasEffect,
    secret: isSecret,
    required: isRequired,
    local: isLocal,
  }
}

function refusalOf({ why, message }: Extract<ConfigurationOutcome, { readonly isDone: false }>): ApiError {
  if (why === 'unknown-version') return refuse('invalidParameter', message, 404)
  return why === 'forbidden' ? refuse('wrongCredentials', message, 403) : refuse(refusals[why], message)
}

function replyOf(outcome: ConfigurationOutcome): ReplyOf<Endpoints['update_config']> | ApiError {
  if (!outcome.isDone) return refusalOf(outcome)
  const { changed, needsRestart, withoutEffect, pinned, warnings } = outcome
  return {
    code: 0,
    data: {
      changed: changed.map(shownDifference),
      needs_restart: needsRestart.map(shownDifference),
      without_engine: withoutEffect.map(shownDifference),
      pinned: [...pinned],
      warnings: [...warnings],
    },
  }
}
