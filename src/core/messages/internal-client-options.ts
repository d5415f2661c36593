// What the broker and its internal clients (`internal-clients.ts`) tell each other beyond MQTT: user properties, and identifiers of
// subscriptions that mean something else than for other clients.

import type { QoS, UserProperties } from '../../protocol/index.ts'

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

/** Limits of the queue of an internal client on disk. */
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

/** Returns the limits as properties that an internal client sends in CONNECT. */
export function toSpoolProperties({ maxMessages, dropsNewest, dropsOldest }: SpoolLimits): UserProperties {
  return [
    ...(maxMessages === undefined ? [] : ([[maxMessagesName, String(maxMessages)]] as const)),
    ...(dropsNewest ? ([[dropsNewestName, '']] as const) : []),
    ...(dropsOldest ? ([[dropsOldestName, '']] as const) : []),
  ]
}

export function parseSpoolLimits(properties: UserProperties | undefined): SpoolLimits {
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
export function encodePublishedQoS(published: QoS): readonly number[] {
  return raisedFromQoS[published] ?? []
}

/** Returns the QoS that the identifier of a bridge's subscription requests. */
export function decodeRequestedQoS(identifier: number | undefined): QoS {
  return identifier === 1 || identifier === 2 ? identifier : 0
}

/** Returns the published QoS; undefined if it was not raised. */
export function decodePublishedQoS(subscriptionIdentifiers: readonly number[] | undefined): QoS | undefined {
  const identifier = subscriptionIdentifiers?.[0]
  return identifier === undefined ? undefined : (Math.min(2, identifier - 1) as QoS)
}

/** Sent in CONNECT when the remote broker has lost the bridge's session. */
export const remoteSessionLostProperty: UserProperties = [[forgottenName, '']]

export function hasRemoteSessionLost(properties: UserProperties | undefined): boolean {
  return properties?.some(([name]) => name === forgottenName) === true
}
