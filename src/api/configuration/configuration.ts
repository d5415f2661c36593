// The configuration.

import { describeAsObject } from '../../config/index.ts'
import type { ReplyOf } from '../../contract/index.ts'
import { type ApiError, type Handlers, refuse, quoteShortened } from '../../management/index.ts'
import {
  type CertificateInForce,
  type ConfigManager,
  readListenerCertificates,
  formatVersion,
  compareVersions,
} from '../../node/index.ts'
import { isSentObject, type Sent } from '../bridges/read-bridge-node.ts'
import type { ApiContext } from '../context/api-context.ts'
import { type Change, changeSettings, refuseOutcome, toResponse, toDifferenceResponse } from './configuration-reply.ts'
import { listSettings, listNewEntrySettings } from './described-settings.ts'
import { type configurationEndpoints, hotSettings } from './endpoints.ts'
import { changeHot, createReloadHandlers, toHotSettings } from './hot-settings.ts'
import { isNanomqSection, createNanomqSection, type NanomqSection, findReplacementSection } from './nanomq-sections.ts'

type ConfigurationVersion = ConfigManager['history']['versions'][number]
type Endpoints = typeof configurationEndpoints

/** `bridges`: as in `GET /bridges`. */
export function createConfigurationHandlers(
  { configuration, listeners, watchedFiles }: Pick<ApiContext, 'configuration' | 'listeners' | 'watchedFiles'>,
  bridges: (areOfAws: boolean) => Promise<object>,
): Handlers<Endpoints> {
  return {
    ...createReloadHandlers(configuration),
    ...createSectionHandlers(configuration, bridges),
    ...createHistoryHandlers(configuration),
    update_config: async ({ query: { merge: merges = false, dry_run: isDryRun = false }, body, caller }) => {
      if (isDryRun) return toResponse(await configuration.tryText(body, { merges }))
      return toResponse(
        await (merges ? configuration.mergeText(body, caller) : configuration.replaceText(body, caller)),
      )
    },
    unset_settings: async ({ query: { dry_run: isDryRun = false }, body: { keys }, caller }) =>
      toResponse(await configuration.unset(keys, { author: caller, isDryRun })),
    get_configuration_schema: ({ query: { new: section }, caller: { namespace } }) => {
      const isKeptToNamespace = namespace !== undefined
      if (isKeptToNamespace && !sectionsOfNamespaces.has(section ?? '')) {
        const words = `this account is limited to the namespace ${namespace}: use new=connectors, new=actions or new=sources`
        return refuse('wrongCredentials', `this account is ${words}`, 403).withReason('UNAUTHORIZED_ROLE')
      }
      const settings =
        section === undefined ? listSettings(configuration) : listNewEntrySettings(section, isKeptToNamespace)
      if (settings !== undefined) return { code: 0, data: settings }
      const words = 'has no named entries; sections that have some are connectors, actions, sources and listeners'
      return refuse('invalidParameter', `new: the section ${JSON.stringify(quoteShortened(section ?? ''))} ${words}`)
    },
    check_configuration: ({ body }) => {
      const found = configuration.previewText(body)
      if ('isDone' in found) return refuseOutcome(found)
      return { code: 0, data: { changes: found.map(toDifferenceResponse) } }
    },
    list_configuration_files: () => {
      const files = watchedFiles.listFiles().map(({ path, sha256, problem }) => ({
        path,
        sha256: sha256 ?? null,
        problem: problem ?? null,
      }))
      return { code: 0, data: { watched: watchedFiles.isOn, files } }
    },
    reload_configuration: async ({ caller }) => {
      const reply = toResponse(await configuration.reload(caller))
      if (!('data' in reply)) return reply
      return {
        code: 0,
        data: { ...reply.data, certificates: readListenerCertificates(listeners.addresses).map(toCertificateResponse) },
      }
    },
  }
}

/** Sections whose entries a namespace has too. */
const sectionsOfNamespaces: ReadonlySet<string> = new Set(['connectors', 'actions', 'sources'])

type SectionNames =
  | 'get_broker_configuration'
  | 'get_configuration_section'
  | 'set_broker_configuration'
  | 'set_configuration_section'

function createSectionHandlers(
  configuration: ConfigManager,
  readBridges: (areOfAws: boolean) => Promise<object>,
): Pick<Handlers<Endpoints>, SectionNames> {
  const checkSection = (section: string): ApiError | undefined => {
    const sections = Object.keys(describeAsObject(configuration.config))
    if (sections.includes(section)) return undefined
    const known = sections.join(', ')
    return refuse('rpcError', `there is no section ${JSON.stringify(section)}; there are ${known}`, 404)
  }
  const toNanomqResponse = (section: NanomqSection): Promise<object> =>
    createNanomqSection(section, {
      sections: describeAsObject(configuration.config),
      hot: toHotSettings(configuration),
      readBridges: readBridges,
    })
  const changeAsNanomq = async (section: NanomqSection, sent: unknown, change: Change) => {
    if (!isSentObject(sent))
      return refuse('invalidParameter', `data.${section} in the body is not an object of settings`)
    const shown = (await toNanomqResponse(section)) as Sent
    const other = Object.keys(sent).find((key) => {
      return !Object.hasOwn(hotSettings.properties, key) && JSON.stringify(sent[key]) !== JSON.stringify(shown[key])
    })
    if (other === undefined) return changeHot(configuration, { sent, place: `data.${section}` }, change)
    const words = `data.${section}.${other} in the body is not changed by this name; change ${findReplacementSection(section)}`
    return refuse('invalidParameter', words)
  }
  return {
    get_broker_configuration: () => ({ code: 0, data: { ...describeAsObject(configuration.config) } }),
    get_configuration_section: async ({ params: { section } }) => {
      if (isNanomqSection(section)) return { code: 0, data: { [section]: await toNanomqResponse(section) } }
      return checkSection(section) ?? { code: 0, data: { [section]: describeAsObject(configuration.config)[section] } }
    },
    set_broker_configuration: async ({ body, caller }) => {
      return toResponse(
        await changeSettings(configuration, body.data, { by: caller, persists: true, act: 'configuration' }),
      )
    },
    set_configuration_section: async ({ params: { section }, body, caller }) => {
      const isNanomqs = isNanomqSection(section)
      const unknown = isNanomqs ? undefined : checkSection(section)
      if (unknown !== undefined) return unknown
      if (!Object.hasOwn(body.data, section)) {
        return refuse('missingParameter', `data.${section} is missing in the body: an object of settings`)
      }
      const other = Object.keys(body.data).find((key) => key !== section)
      if (other !== undefined) {
        return refuse('invalidParameter', `data.${other} in the body is not of the section ${section}`)
      }
      const change = { by: caller, persists: true, act: `configuration ${section}` }
      if (!isNanomqs) return toResponse(await changeSettings(configuration, body.data, change))
      return changeAsNanomq(section, body.data[section], change)
    },
  }
}

type HistoryNames =
  | 'list_configuration_history'
  | 'get_configuration_version'
  | 'diff_configuration'
  | 'rollback_configuration'

function createHistoryHandlers(configuration: ConfigManager): Pick<Handlers<Endpoints>, HistoryNames> {
  const find = (number: string): ConfigurationVersion | ApiError => {
    const found = configuration.history.versions.find((version) => String(version.number) === number)
    return found ?? refuse('invalidParameter', `configuration ${number.slice(0, 20)} is not in the history`, 404)
  }
  return {
    list_configuration_history: () => ({
      code: 0,
      data: configuration.history.versions.map(toVersionResponse).toReversed(),
    }),
    get_configuration_version: ({ params: { number } }) => {
      const version = find(number)
      if (!('atMs' in version)) return version
      return {
        code: 0,
        data: {
          ...toVersionResponse(version),
          text: formatVersion(configuration.history.find(version.number) ?? nothing),
        },
      }
    },
    diff_configuration: ({ params: { number }, query }) => {
      const [from, to] = [find(number), find(String(query.to ?? configuration.history.versions.at(-1)?.number))]
      if (!('atMs' in from)) return from
      if (!('atMs' in to)) return to
      const { history } = configuration
      const toSettings = ({ number }: ConfigurationVersion) => history.find(number) ?? nothing
      const changes = compareVersions(toSettings(from), toSettings(to)).map(toDifferenceResponse)
      return { code: 0, data: { from: from.number, to: to.number, changes } }
    },
    rollback_configuration: async ({ params: { number }, caller }) => {
      const version = find(number)
      return 'atMs' in version ? toResponse(await configuration.rollBack(version.number, caller)) : version
    },
  }
}

/** Of a version that is no longer in the history. */
const nothing = { settings: {} }

type Shown<List> = List extends readonly (infer Item)[] ? Item : never

function toVersionResponse({
  number,
  atMs,
  author,
  act,
  changed,
}: ConfigurationVersion): Shown<ReplyOf<Endpoints['list_configuration_history']>['data']> {
  const { name, by, address } = author
  return { number, at: new Date(atMs).toISOString(), by: name === '' ? by : name, address, act, changed: [...changed] }
}

function toCertificateResponse(
  certificate: CertificateInForce,
): Shown<ReplyOf<Endpoints['reload_configuration']>['data']['certificates']> {
  const { listener, file, problem } = certificate
  if (problem !== undefined) return { listener, file, state: 'not-used', problem }
  return { listener, file, state: 'in-force', ends: new Date(certificate.endsAtMs).toISOString() }
}
