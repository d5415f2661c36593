// Bridges are clients of this broker, and their sessions are what they keep their messages in. Their client ids are theirs
// alone: nobody who comes through a listener may have one, for with it would come everything that waits for the bridge.

import type { QoS, UserProperties } from '../../protocol/index.ts'

const prefix = '$bridge/'

/** What a bridge keeps with its session begins so: subscriptions that nothing ever matches, see `bridges/subscriptions.ts`. */
export const bridgeMarksRoot = prefix

/**
 * The user property by which messages that go round are found out: see `bridges/loop-marker.ts`. A bridge says it in CONNECT,
 * and is told in CONNACK which broker it has come to.
 */
export const loopMarkerName = 'godwit-via'

/**
 * Before 5.0 CONNACK has no room for that. Who says there that it is a bridge is told under this topic, at QoS 0 and right
 * behind CONNACK. It is an answer and no message: nobody publishes it, and nobody subscribes to it.
 */
export const brokerNameTopic = '$godwit/broker'

const brokerNamePattern = /^[\w.-]{1,64}$/

/** Whether a broker of this kind may be called so: who says it is a stranger, and the name is put on messages. */
export function isBrokerName(text: string): boolean {
  return brokerNamePattern.test(text)
}

/** Packet ids towards a bridge are no larger, so that it can make several of each: see `bridges/forwarding.ts`. */
export const largestBridgePacketId = 2_047

export function bridgeClientId(name: string): string {
  return `${prefix}${name}`
}

export function isBridgeClient(clientId: string): boolean {
  return clientId.startsWith(prefix)
}

/** Client IDs of the sessions that store for actions of rules begin so. */
export const actionClientPrefix = `${prefix}$action/`

/**
 * The session that stores for an action of rules. Each shard has its own, so that what a rule sends is durable together with
 * the message that it ran for: `salt` is chosen so that the session belongs to the shard.
 */
export function actionClientId(action: string, salt: string): string {
  return `${actionClientPrefix}${salt}/${action}`
}

/** The action that a session stores for; undefined: it is none of those. */
export function actionOfClientId(clientId: string): string | undefined {
  if (!clientId.startsWith(actionClientPrefix)) return undefined
  return clientId.slice(clientId.indexOf('/', actionClientPrefix.length) + 1)
}

/** How much waits for a bridge, on disk. */
export interface SpoolLimits {
  /** Undefined: as much as for any session. */
  readonly maxMessages: number | undefined
  /** One message more is dropped and counted. */
  readonly dropsNewest: boolean
  /** For one message more the oldest that is not under way is dropped and counted. */
  readonly dropsOldest: boolean
  // With neither the publisher of one message more is refused, where it can be told.
}

const maxMessagesName = 'spool-max-messages'
const dropsNewestName = 'spool-drops-newest'
const dropsOldestName = 'spool-drops-oldest'
const forgottenName = 'forgotten-there'

/** A bridge says its limits in CONNECT. */
export function spoolProperties({ maxMessages, dropsNewest, dropsOldest }: SpoolLimits): UserProperties {
  return [
    ...(maxMessages === undefined ? [] : ([[maxMessagesName, String(maxMessages)]] as const)),
    ...(dropsNewest ? ([[dropsNewestName, '']] as const) : []),
    ...(dropsOldest ? ([[dropsOldestName, '']] as const) : []),
  ]
}

export function spoolLimitsIn(properties: UserProperties | undefined): SpoolLimits {
  const said = new Map(properties)
  const maxMessages = said.get(maxMessagesName)
  return {
    maxMessages: maxMessages === undefined ? undefined : Number(maxMessages),
    dropsNewest: said.has(dropsNewestName),
    dropsOldest: said.has(dropsOldestName),
  }
}

const raisedFromQoS: readonly (readonly number[])[] = [[1], [2], [3]]

/**
 * A bridge says with the identifier of a subscription to which QoS messages are raised that were published with less. What
 * is raised comes to it with the identifier `publishedQoS + 1`. It has no other use for identifiers.
 */
export function identifierForRaisedQoS(published: QoS): readonly number[] {
  return raisedFromQoS[published] ?? []
}

/** What the identifier of a bridge's subscription says. */
export function raisedQoSIn(identifier: number | undefined): QoS {
  return identifier === 1 || identifier === 2 ? identifier : 0
}

/** Undefined: it was not raised. */
export function publishedQoSOf(subscriptionIdentifiers: readonly number[] | undefined): QoS | undefined {
  const identifier = subscriptionIdentifiers?.[0]
  return identifier === undefined ? undefined : (Math.min(2, identifier - 1) as QoS)
}

/** Said in CONNECT when the broker behind the bridge has no session of it any more. */
export const remoteSessionLostProperty: UserProperties = [[forgottenName, '']]

export function hasRemoteSessionLost(properties: UserProperties | undefined): boolean {
  return properties?.some(([name]) => name === forgottenName) === true
}
