// The settings of `/reload`, in the units and by the names of NanoMQ.

import type { GodwitConfig } from '../../config/index.ts'
import { type ReplyOf, compileShape } from '../../contract/index.ts'
import { type ApiError, type Handlers, refuse, quoteShortened } from '../../management/index.ts'
import { type ConfigManager, listPortHosts, isLoopbackAddress } from '../../node/index.ts'
import { type Change, changeSettings, toResponse } from './configuration-reply.ts'
import { type configurationEndpoints, type HotSettings, hotSettings } from './endpoints.ts'

type Endpoints = typeof configurationEndpoints

const hotShape = compileShape(hotSettings)

export function createReloadHandlers(
  configuration: ConfigManager,
): Pick<Handlers<Endpoints>, 'get_reload' | 'post_reload'> {
  return {
    get_reload: () => ({ code: 0, data: toHotSettings(configuration) }),
    post_reload: async ({ body, caller }) => {
      const { data, persist: persists = false } = body
      if (data === undefined || data === null || typeof data !== 'object' || Array.isArray(data)) {
        return refuse('missingParameter', 'data is missing in the body: an object of settings, as GET returns them')
      }
      return changeHot(configuration, { sent: data, place: 'data' }, { by: caller, persists, act: 'reload' })
    },
  }
}

/** `place`: path of the settings in the body. */
export async function changeHot(
  configuration: ConfigManager,
  { sent, place }: { readonly sent: object; readonly place: string },
  change: Change,
): Promise<ReplyOf<Endpoints['update_config']> | ApiError> {
  const fault = hotShape.findFault(sent)
  if (fault !== undefined) {
    return refuse('invalidParameter', `${place}${fault.path.replaceAll('/', '.')} in the body ${fault.message}`)
  }
  const settings = toSettings(sent, toHotSettings(configuration))
  const reply = toResponse(await changeSettings(configuration, settings, change))
  if (!('data' in reply)) return reply
  return { code: 0, data: { ...reply.data, warnings: [...describeUnknownKeys(sent, place), ...reply.data.warnings] } }
}

/** Maximum number of unknown keys that are listed. */
const maxUnknownKeys = 10

/** A sentence for each key that is not a setting of `/reload`; clients of other brokers send further keys. */
function describeUnknownKeys(sent: object, place: string): string[] {
  const known = Object.keys(hotSettings.properties)
  const unknown = Object.keys(sent).filter((key) => !known.includes(key))
  return unknown
    .slice(0, maxUnknownKeys)
    .map((key) => `${place}.${quoteShortened(key)} is not known and was ignored; known: ${known.join(', ')}`)
}

const msPerSecond = 1_000
const bytesPerKibibyte = 1_024
const thousand = 1_000
/** A factor of a hundred is never intended: such numbers are thousandths. */
const minThousandths = 100

export function toHotSettings({ config }: ConfigManager): Required<HotSettings> {
  const { maxQueuedMessages, retryIntervalMs, keepAliveMultiplier } = config.core
  const { maxPacketBytes, clientMaxPacketBytes } = config.packetLimits
  return {
    property_size: config.maxPropertyBytes / bytesPerKibibyte,
    msq_len: maxQueuedMessages,
    qos_duration: Math.ceil(retryIntervalMs / msPerSecond),
    allow_anonymous: config.auth.allowAnonymous ?? isAnonymousAllowedByDefault(config),
    max_packet_size: Math.ceil(maxPacketBytes / bytesPerKibibyte),
    client_max_packet_size: Math.ceil(clientMaxPacketBytes / bytesPerKibibyte),
    keepalive_backoff: Math.round(keepAliveMultiplier * thousand),
  }
}

/** Returns the settings by their own keys. Values sent back unchanged change nothing. */
function toSettings(sent: HotSettings, shown: Required<HotSettings>): Record<string, Record<string, unknown>> {
  const mqtt: Record<string, unknown> = {}
  const auth: Record<string, unknown> = {}
  const findNewValue = <Key extends keyof HotSettings>(key: Key): HotSettings[Key] =>
    sent[key] === shown[key] ? undefined : sent[key]
  const put = (key: string, value: unknown, word: unknown): void => {
    if (value !== undefined) mqtt[key] = word
  }
  put('property_size', findNewValue('property_size'), sent.property_size)
  put('max_mqueue_len', findNewValue('msq_len'), sent.msq_len)
  put('retry_interval', findNewValue('qos_duration'), `${sent.qos_duration}s`)
  put('max_packet_size', findNewValue('max_packet_size'), `${sent.max_packet_size}KB`)
  put('client_max_packet_size', findNewValue('client_max_packet_size'), `${sent.client_max_packet_size}KB`)
  const factor = findNewValue('keepalive_backoff')
  put('keepalive_multiplier', factor, factor === undefined || factor < minThousandths ? factor : factor / thousand)
  if (findNewValue('allow_anonymous') !== undefined) auth['allow_anonymous'] = sent.allow_anonymous
  return {
    ...(Object.keys(mqtt).length > 0 ? { mqtt } : {}),
    ...(Object.keys(auth).length > 0 ? { auth } : {}),
  }
}

/** Default of the hardened profile: anonymous clients are accepted on loopback addresses. */
function isAnonymousAllowedByDefault(config: GodwitConfig): boolean {
  if (config.node.securityProfile === 'legacy') return true
  const hosts = config.listeners.flatMap(({ host }) => (host === undefined ? listPortHosts(config) : [host]))
  return hosts.every(isLoopbackAddress)
}
