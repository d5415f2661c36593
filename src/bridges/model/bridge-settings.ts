// Validated settings of a bridge, created from the configuration before any of it is applied.

import { createHash } from 'node:crypto'
import {
  mqttBridge,
  type MqttBridgeConfig,
  readSettingFields,
  type SettingFields,
  resolveSpoolPolicy,
  selectBridgeTls,
} from '../../config/index.ts'
import type { SpoolLimits } from '../../core/index.ts'
import type { AckTimeout } from '../../mqtt-client/index.ts'
import {
  hasWildcard,
  parseTopicName,
  type ProtocolVersion,
  type QoS,
  type RetainHandling,
  type UserProperties,
  type Will,
} from '../../protocol/index.ts'
import {
  findForwardProblem,
  findSubscriptionProblem,
  type ForwardRule,
  type SubscriptionRule,
} from '../rules/bridge-rules.ts'

const { entries } = mqttBridge
const { entries: connectEntries } = entries.conn_properties

/** Settings that are taken unchanged are named by their entries in `src/config/settings/bridges.ts`. */
export interface BridgeSettings extends SettingFields<typeof entries>, SettingFields<typeof connectEntries> {
  readonly name: string
  /** URLs, the preferred one first; never empty. */
  readonly servers: readonly string[]
  readonly version: ProtocolVersion
  readonly clientId: string
  readonly username: string | undefined
  readonly password: Buffer | undefined
  readonly keepAliveSeconds: number
  readonly sessionExpirySeconds: number
  /** Undefined: the limit of this broker. */
  readonly maximumPacketBytes: number | undefined
  readonly requestProblemInformation: boolean
  readonly requestResponseInformation: boolean
  readonly connectUserProperties: UserProperties
  readonly will: Will | undefined
  readonly subscriptionIdentifier: number | undefined
  readonly subscribeUserProperties: UserProperties
  readonly unsubscribeUserProperties: UserProperties
  readonly forwards: readonly ForwardRule[]
  readonly subscriptions: readonly SubscriptionRule[]
  /** Maximum QoS that the remote broker is known to support, whatever it sends itself. */
  readonly maxQoS: QoS
  /** Maximum filters in a SUBSCRIBE or UNSUBSCRIBE to the remote broker. */
  readonly maxFiltersPerPacket: number
  /** Minimum time between two CONNECT packets with the same client ID. */
  readonly connectPauseMs: number
  readonly spool: SpoolLimits
  /** Undefined: no timeout while the remote broker is connected. */
  readonly ackTimeout: AckTimeout | undefined
  readonly backoffMaxMs: number
  /** Timeout of the connection, and again of CONNACK. */
  readonly connectTimeoutMs: number
  /** Name of this broker in loop markers; unique for each broker. */
  readonly brokerId: string
  /** Structured-clone data that only the `BridgeConnector` reads. */
  readonly link: object
}

/** Defaults of `resend_wait` and `resend_interval` if only the other one is set. */
const defaultResendWaitMs = 3_000
const defaultResendIntervalMs = 5_000

export interface BridgeFacts {
  /** Position of the bridge in the configuration; undefined: in `bridges.mqtt`. */
  readonly key?: string | undefined
  /** The remote broker is AWS IoT. */
  readonly isOfAws?: boolean | undefined
  /** Default of `bridges.mqtt.cache` for the queue of bridges. Undefined: none. */
  readonly spoolMessages?: number | undefined
  /** Unique and permanent for this broker: default client IDs of bridges contain it. */
  readonly brokerId: string
  readonly link: object
}

/** More forwards of one message would need more packet identifiers than exist. */
export const maxForwards = 32
const maxSubscriptions = 1_024
/** With 64 filters in a packet, 1024 subscriptions need 16 of the 31 packet identifiers for SUBSCRIBE. */
const limitsOfOtherBrokers = { maxQoS: 2, maxFiltersPerPacket: 64, connectPauseMs: 0 } as const
/** Quotas of AWS IoT: eight filters in a request, and one CONNECT per client ID and second. */
const limitsOfAws = { maxQoS: 1, maxFiltersPerPacket: 8, connectPauseMs: 1_500 } as const
const defaultTcpPort = 1_883
const defaultTlsPort = 8_883
/** 0 has the same effect as the default: without a pause or a timeout a connection is impossible. */
const defaultBackoffMs = 5_000
const defaultConnectMs = 10_000
const maxClientId31 = 23
const msPerSecond = 1_000
const neverExpires = 0xffffffff

type Rule = MqttBridgeConfig['forwards'][number]

/** A problem is a sentence with its key. */
export function toBridgeSettings(
  name: string,
  config: MqttBridgeConfig,
  facts: BridgeFacts,
): { readonly settings: BridgeSettings } | { readonly problem: string } {
  const forwards = config.forwards.map(toForwardRule)
  const subscriptions = config.subscription.map(toSubscriptionRule)
  const { isOfAws = false, key = `bridges.mqtt.${name}` } = facts
  const problem =
    findConfigProblem(config, forwards, subscriptions) ??
    (isOfAws ? findWildcardProblem(forwards, subscriptions) : undefined)
  if (problem !== undefined) return { problem: `${key}.${problem}` }
  const { conn_properties: properties, sub_properties: subscribing } = config
  const expiry = properties.session_expiry_interval
  return {
    settings: {
      ...readSettingFields(entries, config),
      ...readSettingFields(connectEntries, properties),
      name,
      servers: listServers(config),
      version: Number(config.proto_ver) as ProtocolVersion,
      clientId: createClientId(name, config, facts),
      username: config.username === '' ? undefined : config.username,
      password: config.password === undefined || config.password === '' ? undefined : Buffer.from(config.password),
      keepAliveSeconds: Math.min(65_535, Math.ceil(config.keepalive / msPerSecond)),
      // A session that is to be resumed must not end with the connection.
      sessionExpirySeconds: !config.clean_start && expiry === 0 ? neverExpires : expiry,
      maximumPacketBytes: properties.maximum_packet_size === 0 ? undefined : properties.maximum_packet_size,
      requestProblemInformation: isOn(properties, 'request_problem'),
      requestResponseInformation: isOn(properties, 'request_response'),
      connectUserProperties: [...properties.user_property],
      will: toWill(config),
      subscriptionIdentifier: subscribing.identifier,
      subscribeUserProperties: [...subscribing.user_property],
      unsubscribeUserProperties: [...config.unsub_properties.user_property],
      forwards,
      subscriptions,
      ...(isOfAws ? limitsOfAws : limitsOfOtherBrokers),
      spool: toSpoolLimits(config, facts),
      ackTimeout: toAckTimeout(config),
      backoffMaxMs: config.backoff_max === 0 ? defaultBackoffMs : config.backoff_max,
      connectTimeoutMs: toConnectTimeoutMs(config),
      brokerId: facts.brokerId,
      link: facts.link,
    },
  }
}

/** Timeout of opening a connection in milliseconds, and again of CONNACK. */
export function toConnectTimeoutMs({ cancel_timeout: timeoutMs }: Pick<MqttBridgeConfig, 'cancel_timeout'>): number {
  return timeoutMs === 0 ? defaultConnectMs : timeoutMs
}

function toSpoolLimits(config: MqttBridgeConfig, { spoolMessages }: BridgeFacts): SpoolLimits {
  const policy = resolveSpoolPolicy(config, spoolMessages)
  return {
    maxMessages: config.spool_max_messages ?? spoolMessages,
    dropsNewest: policy === 'drop_newest',
    dropsOldest: policy === 'drop_oldest',
  }
}

/** 0 has the same effect as an absent setting. */
function toAckTimeout({ resend_wait: wait = 0, resend_interval: interval = 0 }: MqttBridgeConfig) {
  if (wait === 0 && interval === 0) return undefined
  return {
    waitMs: wait === 0 ? defaultResendWaitMs : wait,
    intervalMs: interval === 0 ? defaultResendIntervalMs : interval,
  }
}

/** Client IDs of MQTT 3.1 have at most 23 characters: a longer one is replaced by its hash. */
function createClientId(name: string, { clientid, proto_ver }: MqttBridgeConfig, { brokerId }: BridgeFacts): string {
  if (clientid !== undefined && clientid !== '') return clientid
  const own = `godwit-${brokerId}-${name}`
  if (proto_ver !== '3' || own.length <= maxClientId31) return own
  return `godwit-${createHash('sha256').update(own).digest('hex')}`.slice(0, maxClientId31)
}

function findConfigProblem(
  config: MqttBridgeConfig,
  forwards: readonly ForwardRule[],
  subscriptions: readonly SubscriptionRule[],
): string | undefined {
  if (config.server === undefined || config.server === '') return 'server is missing: give it the URL of a broker'
  if (forwards.length > maxForwards) return `forwards has more than ${maxForwards} items`
  if (subscriptions.length > maxSubscriptions) return `subscription has more than ${maxSubscriptions} items`
  for (const [index, rule] of forwards.entries()) {
    const problem = findForwardProblem(rule)
    if (problem !== undefined) return `forwards.${index}.${problem}`
  }
  for (const [index, rule] of subscriptions.entries()) {
    const problem = findSubscriptionProblem(rule)
    if (problem !== undefined) return `subscription.${index}.${problem}`
  }
  const { topic, properties } = config.will
  if (isNoTopic(topic)) return 'will.topic is not a topic name: it must not contain wildcards'
  if (isNoTopic(properties.response_topic))
    return 'will.properties.response_topic is not a topic name: it must not contain wildcards'
  return undefined
}

function isNoTopic(text: string | undefined): boolean {
  return text !== undefined && text !== '' && parseTopicName(text) === undefined
}

/** Topics of AWS IoT are mapped as a whole. */
function findWildcardProblem(
  forwards: readonly ForwardRule[],
  subscriptions: readonly SubscriptionRule[],
): string | undefined {
  const forward = forwards.findIndex(({ remoteTopic }) => hasWildcard(remoteTopic))
  if (forward !== -1) return `forwards.${forward}.remote_topic must not contain wildcards`
  const subscription = subscriptions.findIndex(({ localTopic }) => hasWildcard(localTopic))
  return subscription === -1 ? undefined : `subscription.${subscription}.local_topic must not contain wildcards`
}

/** If a bridge may use several servers, QUIC is followed by TCP to the same host. */
function listServers(config: MqttBridgeConfig): readonly string[] {
  const { server, hybrid_bridging: isHybrid, hybrid_servers: others } = config
  const first = server ?? ''
  if (!isHybrid) return [first]
  const known = [...new Set([first, ...others])]
  if (known.length > 1) return known
  const host = /^mqtt-quic:\/\/(\[[^\]]*\]|[^:/]*)/.exec(first)?.[1]
  if (host === undefined) return known
  const usesTls = selectBridgeTls(config).enable
  return [first, usesTls ? `tls+mqtt-tcp://${host}:${defaultTlsPort}` : `mqtt-tcp://${host}:${defaultTcpPort}`]
}

function toForwardRule(rule: Rule): ForwardRule {
  return {
    localFilter: readText(rule, 'local_topic'),
    remoteTopic: readText(rule, 'remote_topic'),
    prefix: readText(rule, 'prefix'),
    suffix: readText(rule, 'suffix'),
    qos: rule.has('qos') ? (Number(rule.get('qos')) as QoS) : undefined,
    retain: rule.has('retain') ? rule.get('retain') === true : undefined,
  }
}

function toSubscriptionRule(rule: Rule): SubscriptionRule {
  const asPublished = rule.get('retain_as_published')
  return {
    remoteFilter: readText(rule, 'remote_topic'),
    localTopic: readText(rule, 'local_topic'),
    prefix: readText(rule, 'prefix'),
    suffix: readText(rule, 'suffix'),
    qos: Number(rule.get('qos') ?? 0) as QoS,
    retain: rule.has('retain') ? rule.get('retain') === true : undefined,
    retainAsPublished: asPublished === undefined || asPublished === 'true' || asPublished === '1',
    retainHandling: Number(rule.get('retain_handling') ?? 0) as RetainHandling,
  }
}

function readText(rule: Rule, field: string): string {
  const text = rule.get(field)
  return typeof text === 'string' ? text : ''
}

/** The first of three spellings that is set applies. */
function isOn(
  properties: MqttBridgeConfig['conn_properties'],
  option: 'request_problem' | 'request_response',
): boolean {
  const word = properties[`${option}_information`] ?? properties[`${option}_infomation`] ?? properties[`${option}_info`]
  return word === '1' || word === 'true'
}

function toWill({ will, proto_ver: version }: MqttBridgeConfig): Will | undefined {
  const topic = parseTopicName(will.topic ?? '')
  if (topic === undefined) return undefined
  const { properties } = will
  return {
    topic,
    payload: Buffer.from(will.payload),
    qos: Number(will.qos) as QoS,
    retain: will.retain,
    properties: version === '5' ? toWillProperties(properties) : undefined,
  }
}

function toWillProperties(properties: MqttBridgeConfig['will']['properties']): Will['properties'] {
  return {
    ...(properties.payload_format_indicator === '1' ? { payloadFormatIndicator: 1 as const } : {}),
    ...(properties.message_expiry_interval > 0
      ? { messageExpiryIntervalSeconds: properties.message_expiry_interval }
      : {}),
    ...(properties.will_delay_interval > 0 ? { willDelayIntervalSeconds: properties.will_delay_interval } : {}),
    ...(properties.content_type === undefined ? {} : { contentType: properties.content_type }),
    ...(properties.response_topic === undefined || properties.response_topic === ''
      ? {}
      : { responseTopic: properties.response_topic }),
    ...(properties.correlation_data === undefined ? {} : { correlationData: Buffer.from(properties.correlation_data) }),
    ...(properties.user_property.size === 0 ? {} : { userProperties: [...properties.user_property] }),
  }
}

/** Returns whether only the rules differ. */
export function isSameConnection(before: BridgeSettings, after: BridgeSettings): boolean {
  return omitRules(before) === omitRules(after)
}

function omitRules(settings: BridgeSettings): string {
  const noRules = { forwards: [], subscriptions: [], isTransparent: false, unsubscribeUserProperties: [] }
  return JSON.stringify({ ...settings, ...noRules })
}

export function hasSameRules(before: BridgeSettings, after: BridgeSettings): boolean {
  const serializeRules = (settings: BridgeSettings): string => {
    const { forwards, subscriptions, isTransparent, unsubscribeUserProperties } = settings
    return JSON.stringify([forwards, subscriptions, isTransparent, unsubscribeUserProperties])
  }
  return serializeRules(before) === serializeRules(after)
}

/**
 * Returns whether CONNECT has the bridge bit. Before 5.0, only a bridge that sends the bit does not receive its own
 * messages, and gets the name of a remote Godwit broker. If a broker does not accept the bit, the bridge connects again
 * without it: see `version-negotiation.ts`.
 */
export function shouldSendBridgeBit({ version, noLocalBefore5 }: BridgeSettings): boolean {
  return version !== 5 && noLocalBefore5
}
