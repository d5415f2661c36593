import { basename } from 'node:path'
import { isSettingOfFiles } from '../../actions/index.ts'
import {
  type DescribedSetting,
  describeAsObject,
  describeNewEntries,
  describeSettings,
  formatConfigError,
  fromPlain,
  type GodwitConfig,
} from '../../config/index.ts'
import type { ConfigurationOperations, ConfigurationOutcome, ListedSetting } from './configuration.ts'
import {
  textOfVersion,
  versionDifferences,
  requestName,
  changesFileName,
  type ConfigOutcome,
  type ConfigManager,
  hostsOfPort,
  isLoopbackAddress,
  type ListenerAddress,
  listenerCertificates,
} from '../../node/index.ts'

export function configurationOperations(
  live: ConfigManager,
  listeners: () => readonly ListenerAddress[],
): ConfigurationOperations {
  return {
    hotSettings: () => hotSettingsOf(live.config),
    sections: () => describeAsObject(live.config),
    change: async (settings, { by, persists, act }) => {
      const read = fromPlain(settings, requestName)
      if ('errors' in read) {
        return { isDone: false, why: 'invalid', message: read.errors.map(formatConfigError).join('\n') }
      }
      return outcomeOf(await live.change(read.value, { author: by, persists, name: act }))
    },
    mergeText: async (text, by) => outcomeOf(await live.mergeText(text, by)),
    tryText: async (text, how) => outcomeOf(await live.tryText(text, how)),
    unset: async (keys, { by, isDryRun }) => outcomeOf(await live.unset(keys, { author: by, isDryRun })),
    settings: () => describeSettings(live.config).map((setting) => listedSetting(setting, live)),
    settingsOfNew: (section, { isKeptToNamespace }) =>
      describeNewEntries(section.split('.'))
        ?.filter(({ path: [, type = '', , ...below] }) => !isKeptToNamespace || !isSettingOfFiles(type, below))
        .map((setting) => listedSetting(setting, { isPinned: () => false })),
    previewText: (text) => live.previewText(text),
    replaceText: async (text, by) => outcomeOf(await live.replaceText(text, by)),
    reload: async (by) => outcomeOf(await live.reload(by)),
    certificates: () => listenerCertificates(listeners()),
    versions: () => live.history.versions,
    textOf: (number) => textOfVersion(live.history.find(number) ?? nothing),
    differencesOf: (from, to) =>
      versionDifferences(live.history.find(from) ?? nothing, live.history.find(to) ?? nothing),
    rollback: async (number, by) => outcomeOf(await live.rollback(number, by)),
  }
}

function listedSetting(
  { place, isDefault, ...setting }: DescribedSetting,
  live: Pick<ConfigManager, 'isPinned'>,
): ListedSetting {
  if (live.isPinned(setting.path)) return { ...setting, source: 'command-line', place: '--set' }
  if (place === undefined || isDefault) return { ...setting, source: 'default', place: undefined }
  const { file, line } = place
  const isFromApi = file === requestName || basename(file) === changesFileName
  return { ...setting, source: isFromApi ? 'api' : 'file', place: isFromApi ? undefined : `${file}:${line}` }
}

const nothing = { settings: {} }

function outcomeOf(outcome: ConfigOutcome): ConfigurationOutcome {
  return outcome.isDone ? { ...outcome, warnings: outcome.warnings.map(formatConfigError) } : outcome
}

function hotSettingsOf(config: GodwitConfig): ReturnType<ConfigurationOperations['hotSettings']> {
  const { maxQueuedMessages, retryIntervalMs, keepAliveMultiplier } = config.core
  return {
    maxPropertyKibibytes: config.maxPropertyBytes / 1_024,
    maxQueuedMessages,
    retryIntervalMs,
    allowsAnonymous: config.auth.allowAnonymous ?? allowsAnonymousByDefault(config),
    ...config.packetLimits,
    keepAliveMultiplier,
  }
}

/** Default of the hardened profile: anonymous clients are accepted on loopback addresses. */
function allowsAnonymousByDefault(config: GodwitConfig): boolean {
  if (config.node.securityProfile === 'legacy') return true
  const hosts = config.listeners.flatMap(({ host }) => (host === undefined ? hostsOfPort(config) : [host]))
  return hosts.every(isLoopbackAddress)
}
