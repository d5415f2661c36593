// Bridges are clients of this broker, and their sessions store their messages. Their client IDs are reserved: a client
// of a listener that used one would receive everything that waits for the bridge.

import type { QoS, UserProperties } from '../../protocol/index.ts'

const prefix = '$bridge/'

/**
 * Prefix of the subscriptions in which a bridge stores its state. They match no topic: see `bridges/subscriptions/subscriptions.ts`.
 */
export const bridgeMarksRoot = prefix

/**
 * User property that detects loops: see `bridges/rules/loop-marker.ts`. A bridge sends it in CONNECT; CONNACK contains the
 * name of this broker.
 */
export const loopMarkerName = 'godwit-via'

/**
 * Before 5.0 CONNACK has no properties. A client that declared itself a bridge receives the broker's name on this
 * topic, with QoS 0, directly after CONNACK. This is a response, not a message: clients cannot publish or subscribe to
 * it.
 */
export const brokerNameTopic = '$godwit/broker'

const brokerNamePattern = /^[\w.-]{1,64}$/

/**
 * Returns whether a remote broker may have this name. The name comes from an untrusted broker and is added to messages.
 */
export function isBrokerName(text: string): boolean {
  return brokerNamePattern.test(text)
}

/**
 * Maximum packet identifier towards a bridge, which derives several identifiers from each: see `bridges/transfer/forwarding.ts`.
 */
export const largestBridgePacketId = 2_047

export function bridgeClientId(name: string): string {
  return `${prefix}${name}`
}

export function isBridgeClient(clientId: string): boolean {
  return clientId.startsWith(prefix)
}

/** Prefix of the client IDs of action queues. */
export const actionClientPrefix = `${prefix}$action/`

/**
 * Returns the client ID of the action queue. Each shard has its own, so that a result is durable together with the
 * message that triggered the rule. `salt` is chosen so that the session belongs to the shard.
 */
export function actionClientId(action: string, salt: string): string {
  return `${actionClientPrefix}${salt}/${action}`
}

/** Returns the action of an action queue; undefined for other sessions. */
export function actionOfClientId(clientId: string): string | undefined {
  if (!clientId.startsWith(actionClientPrefix)) return undefined
  return clientId.slice(clientId.indexOf('/', actionClientPrefix.length) + 1)
}

/** Limits of a bridge's queue on disk. */
export interface SpoolLimits {
  /** Undefined: the limit of any session. */
  readonly maxMessages: number | undefined
  /** When the queue is full, a new message is dropped and counted. */
  readonly dropsNewest: boolean
  /** When the queue is full, the oldest message that is not in flight is dropped and counted. */
  readonly dropsOldest: boolean
  // With neither, the publisher of a new message is refused if its version allows it.
}

const maxMessagesName = 'spool-max-messages'
const dropsNewestName = 'spool-drops-newest'
const dropsOldestName = 'spool-drops-oldest'
const forgottenName = 'forgotten-there'

/** Returns the limits as properties that a bridge sends in CONNECT. */
export function spoolProperties({ maxMessages, dropsNewest, dropsOldest }: SpoolLimits): UserProperties {
  return [
    ...(maxMessages === undefined ? [] : ([[maxMessagesName, String(maxMessages)]] as const)),
    ...(dropsNewest ? ([[dropsNewestName, '']] as const) : []),
    ...(dropsOldest ? ([[dropsOldestName, '']] as const) : []),
  ]
}

export function spoolLimitsIn(properties: UserProperties | undefined): SpoolLimits {
  const values = new Map(properties)
  const maxMessages = values.get(maxMessagesName)
  return {
    maxMessages: maxMessages === undefined ? undefined : Number(maxMessages),
    dropsNewest: values.has(dropsNewestName),
    dropsOldest: values.has(dropsOldestName),
  }
}

const raisedFromQoS: readonly (readonly number[])[] = [[1], [2], [3]]

/**
 * Returns the subscription identifier with which a bridge raises the QoS of messages published with a lower one. A
 * raised message has the identifier `publishedQoS + 1`. Bridges use identifiers for nothing else.
 */
export function identifierForRaisedQoS(published: QoS): readonly number[] {
  return raisedFromQoS[published] ?? []
}

/** Returns the QoS that the identifier of a bridge's subscription requests. */
export function raisedQoSIn(identifier: number | undefined): QoS {
  return identifier === 1 || identifier === 2 ? identifier : 0
}

/** Returns the published QoS; undefined if it was not raised. */
export function publishedQoSOf(subscriptionIdentifiers: readonly number[] | undefined): QoS | undefined {
  const identifier = subscriptionIdentifiers?.[0]
  return identifier === undefined ? undefined : (Math.min(2, identifier - 1) as QoS)
}

/** Sent in CONNECT when the remote broker has lost the bridge's session. */
export const remoteSessionLostProperty: UserProperties = [[forgottenName, '']]

export function hasRemoteSessionLost(properties: UserProperties | undefined): boolean {
  return properties?.some(([name]) => name === forgottenName) === true
}
