// Converts triggers of the core to the columns of events that rules read. A column is computed when it is read.

import {
  toNamespacePrefix,
  splitNamespacedName,
  type AlarmTrigger,
  type AuthenticationTrigger,
  type AuthorizationTrigger,
  type Connection,
  type ConnectTrigger,
  type DeliveryTrigger,
  type DisconnectTrigger,
  type MessageDroppedTrigger,
  type RuleTrigger,
  type RuleTriggerKind,
  type SubscriptionTrigger,
} from '../../core/index.ts'
import { reasonCodes, type ReasonCode, type TopicFilter, writeFilter } from '../../protocol/index.ts'
import type { EventFields, EventName } from '../../rules/index.ts'
import type { RuleValue } from '../../values/index.ts'
import { toClientAttributes, MessageColumns, type MessageColumnsContext } from './message-columns.ts'
import { toDropReasonName, toReasonName } from './reason-names.ts'
import { toConnectProperties, toOtherProperties } from './packet-properties.ts'

export interface TriggerColumnsContext extends MessageColumnsContext {
  /** Returns the source of a decision, by the names of the column `authz_source`. */
  findAuthorizationSource(trigger: AuthorizationTrigger): string
}

export const eventOfTrigger: Readonly<Record<RuleTriggerKind, EventName>> = {
  'client-connected': 'client.connected',
  'client-connack': 'client.connack',
  'client-disconnected': 'client.disconnected',
  authentication: 'client.check_authn_complete',
  authorization: 'client.check_authz_complete',
  'session-subscribed': 'session.subscribed',
  'session-unsubscribed': 'session.unsubscribed',
  'message-delivered': 'message.delivered',
  'message-acked': 'message.acked',
  'message-dropped': 'message.dropped',
  'delivery-dropped': 'delivery.dropped',
  'alarm-activated': 'alarm.activated',
  'alarm-deactivated': 'alarm.deactivated',
}

type Columns<T> = Readonly<Record<string, (trigger: T, context: TriggerColumnsContext) => RuleValue>>

/** Returns the columns of a trigger. They use the context when they are read. */
export function createTriggerColumns(trigger: RuleTrigger, context: TriggerColumnsContext): EventFields {
  switch (trigger.kind) {
    case 'client-connected':
      return new TriggerColumns(trigger, connectedColumns, context)
    case 'client-connack':
      return new TriggerColumns(trigger, connackColumns, context)
    case 'client-disconnected':
      return new TriggerColumns(trigger, disconnectedColumns, context)
    case 'authentication':
      return new TriggerColumns(trigger, authenticationColumns, context)
    case 'authorization':
      return new TriggerColumns(trigger, authorizationColumns, context)
    case 'session-subscribed':
      return new TriggerColumns(trigger, subscribedColumns, context)
    case 'session-unsubscribed':
      return new TriggerColumns(trigger, unsubscribedColumns, context)
    case 'message-delivered':
      return new TriggerColumns(trigger, deliveryColumns, context, new MessageColumns(trigger.message, context))
    case 'message-acked':
      return new TriggerColumns(trigger, ackedColumns, context, new MessageColumns(trigger.message, context))
    case 'delivery-dropped':
      return new TriggerColumns(trigger, droppedDeliveryColumns, context, new MessageColumns(trigger.message, context))
    case 'message-dropped':
      return new TriggerColumns(trigger, droppedColumns, context, new MessageColumns(trigger.message, context))
    case 'alarm-activated':
      return new TriggerColumns(trigger, activatedColumns, context)
    case 'alarm-deactivated':
      return new TriggerColumns(trigger, deactivatedColumns, context)
    default:
      throw trigger satisfies never
  }
}

class TriggerColumns<T extends RuleTrigger> implements EventFields {
  readonly event: EventName
  readonly #trigger: T
  readonly #columns: Columns<T>
  readonly #context: TriggerColumnsContext
  /** Columns of the message, for an event about a message. */
  readonly #message: MessageColumns | undefined

  constructor(trigger: T, columns: Columns<T>, context: TriggerColumnsContext, message?: MessageColumns) {
    this.event = eventOfTrigger[trigger.kind]
    this.#trigger = trigger
    this.#columns = columns
    this.#context = context
    this.#message = message
  }

  listColumnNames(): readonly string[] {
    const own = ['event', 'timestamp', 'node', ...Object.keys(this.#columns)]
    return this.#message === undefined ? own : [...new Set([...own, ...this.#message.listColumnNames()])]
  }

  readColumn(name: string): RuleValue {
    if (name === 'event') return this.event
    if (name === 'timestamp') return Math.floor(this.#trigger.atMs)
    if (name === 'node') return this.#context.nodeName
    if (Object.hasOwn(this.#columns, name)) return this.#columns[name]?.(this.#trigger, this.#context)
    return this.#message?.readColumn(name)
  }
}

function formatAddress(host: string, port: number | undefined): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port ?? 0}`
}

function formatPeerName({ peerAddress, peerPort }: Connection): string {
  return formatAddress(peerAddress, peerPort)
}

function formatListenerAddress({ listener }: Connection): string {
  const host = 'host' in listener && typeof listener.host === 'string' ? listener.host : ''
  return formatAddress(host, listener.port)
}

/** Returns the protocol name as in lists of clients, except for MQTT 3.1, which has the name of its CONNECT packet. */
export function findProtocolName({ listener, version }: Connection): string {
  return listener.gateway?.name ?? (version === 3 ? 'MQIsdp' : 'MQTT')
}

/** Returns the version of MQTT, or of the gateway's protocol. */
export function findProtocolVersion({ listener, gatewayClient, version }: Connection): number {
  return gatewayClient?.protocolVersion ?? listener.gateway?.version ?? version
}

const client = {
  clientid: ({ clientId }) => splitNamespacedName(clientId).name,
  username: ({ username }) => username,
  client_attrs: ({ clientId }) => toClientAttributes(clientId),
} satisfies Columns<{ readonly clientId: string; readonly username: string | undefined }>

const connectedColumns: Columns<ConnectTrigger> = {
  ...client,
  mountpoint: ({ connection }) => connection.mountpoint,
  peername: ({ connection }) => formatPeerName(connection),
  sockname: ({ connection }) => formatListenerAddress(connection),
  proto_name: ({ connection }) => findProtocolName(connection),
  proto_ver: ({ connection }) => findProtocolVersion(connection),
  keepalive: ({ keepAliveSeconds }) => keepAliveSeconds,
  clean_start: ({ connect }) => connect?.cleanStart,
  expiry_interval: ({ expirySeconds }) => toExpirySeconds(expirySeconds),
  is_bridge: ({ connect }) => connect?.isBridge ?? false,
  connected_at: ({ atMs, reason }) => (reason === reasonCodes.success ? Math.floor(atMs) : undefined),
  conn_props: ({ connect }) => toConnectProperties(connect?.properties),
}

/** The largest session expiry of MQTT 5.0 means no expiry. */
const neverSeconds = 0xffff_ffff

function toExpirySeconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.min(seconds, neverSeconds)
}

const connackColumns: Columns<ConnectTrigger> = {
  ...connectedColumns,
  reason_code: ({ reason }) => toReasonName(reason),
}

const disconnectedColumns: Columns<DisconnectTrigger> = {
  ...client,
  reason: (trigger) => toDisconnectReason(trigger),
  peername: ({ connection }) => formatPeerName(connection),
  sockname: ({ connection }) => formatListenerAddress(connection),
  disconnected_at: ({ atMs }) => Math.floor(atMs),
  disconn_props: ({ properties }) => toOtherProperties(properties),
}

const disconnectReasons: ReadonlyMap<ReasonCode, string> = new Map<ReasonCode, string>([
  [reasonCodes.normalDisconnection, 'normal'],
  [reasonCodes.unspecifiedError, 'internal_error'],
  [reasonCodes.keepAliveTimeout, 'keepalive_timeout'],
  [reasonCodes.sessionTakenOver, 'takenover'],
  [reasonCodes.administrativeAction, 'kicked'],
])

function toDisconnectReason({ cause, reason }: DisconnectTrigger): string {
  if (cause === 'discarded') return 'discarded'
  if (cause === 'lost') return 'tcp_closed'
  return disconnectReasons.get(reason) ?? toReasonName(reason)
}

const authenticationColumns: Columns<AuthenticationTrigger> = {
  ...client,
  peername: ({ connection }) => formatPeerName(connection),
  reason_code: ({ reason }) => toReasonName(reason),
  is_superuser: ({ identity }) => identity?.isSuperuser ?? false,
  is_anonymous: ({ identity }) => identity?.authenticatedBy === 'anonymous',
}

const authorizationColumns: Columns<AuthorizationTrigger> = {
  ...client,
  peerhost: ({ connection }) => connection?.peerAddress,
  topic: ({ topic, clientId }) => toNamespacePrefix(splitNamespacedName(clientId).namespace) + topic,
  action: ({ action }) => action,
  result: ({ isAllowed }) => (isAllowed ? 'allow' : 'deny'),
  authz_source: (trigger, context) => context.findAuthorizationSource(trigger),
}

const subscriptionColumns = {
  ...client,
  peerhost: ({ connection }) => connection?.peerAddress,
  topic: ({ filter }) => writeFilter(filter as TopicFilter),
  qos: ({ qos }) => qos,
} satisfies Columns<SubscriptionTrigger>

const subscribedColumns: Columns<SubscriptionTrigger> = {
  ...subscriptionColumns,
  sub_props: ({ properties }) => toOtherProperties(properties),
}

const unsubscribedColumns: Columns<SubscriptionTrigger> = {
  ...subscriptionColumns,
  unsub_props: ({ properties }) => toOtherProperties(properties),
}

const deliveryColumns: Columns<DeliveryTrigger> = {
  ...client,
  from_clientid: ({ message }) => splitNamespacedName(message.publisher).name,
  from_username: ({ message }, context) => context.findPublisher(message.publisher)?.username,
  qos: ({ qos }) => qos,
  flags: ({ message, retain }) => ({ retain, dup: message.isRepeat }),
}

const ackedColumns: Columns<DeliveryTrigger> = {
  ...deliveryColumns,
  puback_props: ({ properties }) => toOtherProperties(properties),
}

const droppedDeliveryColumns: Columns<DeliveryTrigger> = {
  ...deliveryColumns,
  reason: ({ reason }) => (reason === undefined ? undefined : toDropReasonName(reason)),
}

const droppedColumns: Columns<MessageDroppedTrigger> = { reason: ({ reason }) => toDropReasonName(reason) }

const activatedColumns: Columns<AlarmTrigger> = {
  name: ({ name }) => name,
  message: ({ message }) => message,
  details: ({ occurrences }) => ({ occurrences }),
  activated_at: ({ activatedAtMs }) => Math.floor(activatedAtMs),
}

const deactivatedColumns: Columns<AlarmTrigger> = {
  ...activatedColumns,
  deactivated_at: ({ deactivatedAtMs }) => (deactivatedAtMs === undefined ? undefined : Math.floor(deactivatedAtMs)),
}
