// Detects loops. A bridge marks messages that it takes from its broker, and those that it brings, with the name of the broker:
//
//   published at A --bridge of A--> B  [A]  --bridge of B--> C  [A, B]  --bridge of C--> A  [A, B, C]  and no further
//
// A message with the name of this broker before another one has returned: it is not forwarded again. If the remote broker is Godwit and
// sends its name in CONNACK, messages with that name are not forwarded to it. Messages received by the bridge with the name of this broker
// are dropped, and so are messages with too many names. The marker is a user property, which requires MQTT 5.0: two Godwit brokers use 5.0
// regardless of the configuration (`version-negotiation.ts`). Within one bridge, No Local prevents loops in all versions.

import { brokerNameTopic, loopMarkerName as markName, isBrokerName } from '../../core/index.ts'
import type {
  ConnackPacket,
  MessageProperties,
  Packet,
  PublishProperties,
  UserProperties,
} from '../../protocol/index.ts'

/** Maximum number of brokers of a message. */
const maxMarkers = 8

export class LoopMarker {
  readonly #brokerId: string
  /** Name of the remote broker, if it is Godwit. */
  readonly #remoteId: string | undefined
  readonly #marker: UserProperties
  /** Most messages have no other properties, and share this object. */
  readonly #markerOnly: MessageProperties
  readonly #bothMarkers: MessageProperties

  constructor(brokerId: string, remoteId: string | undefined) {
    this.#brokerId = brokerId
    this.#remoteId = remoteId
    this.#marker = [[markName, brokerId]]
    this.#markerOnly = { userProperties: this.#marker }
    this.#bothMarkers = {
      userProperties: [...(remoteId === undefined ? [] : [[markName, remoteId] as const]), ...this.#marker],
    }
  }

  canForward(properties: PublishProperties | undefined): boolean {
    const marks = listMarkers(properties)
    if (marks === undefined) return true
    if (this.#remoteId !== undefined && marks.includes(this.#remoteId)) return false
    const own = marks.indexOf(this.#brokerId)
    return marks.length < maxMarkers && (own === -1 || own === marks.length - 1)
  }

  canReceive(properties: PublishProperties | undefined): boolean {
    const marks = listMarkers(properties)
    return marks === undefined || (marks.length < maxMarkers && !marks.includes(this.#brokerId))
  }

  /** Returns the properties of a message from the remote broker. */
  markReceived(properties: PublishProperties | undefined): MessageProperties {
    if (properties === undefined) return this.#bothMarkers
    const remoteId = this.#remoteId
    if (remoteId === undefined || listMarkers(properties)?.includes(remoteId) === true)
      return this.markForwarded(properties)
    const userProperties = [...(properties.userProperties ?? []), [markName, remoteId] as const]
    return this.markForwarded({ ...properties, userProperties })
  }

  /** Returns the properties of a message to the remote broker. */
  markForwarded(properties: PublishProperties | undefined): MessageProperties {
    if (properties === undefined) return this.#markerOnly
    // Aliases and subscription identifiers belong to one connection.
    const { topicAlias: _alias, subscriptionIdentifiers: _identifiers, ...own } = properties
    if (listMarkers(properties)?.at(-1) === this.#brokerId) return own
    return { ...own, userProperties: [...(own.userProperties ?? []), ...this.#marker] }
  }
}

/** Returns the name of the remote broker; undefined if it has none or an invalid one. */
export function findBrokerName({ properties }: ConnackPacket): string | undefined {
  const name = listMarkers(properties)?.at(-1)
  return name !== undefined && isBrokerName(name) ? name : undefined
}

/** Returns whether this packet announces the name of a Godwit broker before 5.0. */
export function isNameAnnouncement(packet: Packet): boolean {
  if (packet.type !== 'publish' || packet.qos !== 0 || packet.topic?.name !== brokerNameTopic) return false
  // A name is ASCII; other bytes are not a name.
  return isBrokerName(packet.chunk.toString('latin1', packet.payloadStart, packet.frameEnd))
}

/** In the order in which they were added; undefined: none. */
function listMarkers(properties: { readonly userProperties?: UserProperties } | undefined): string[] | undefined {
  const given = properties?.userProperties
  if (given === undefined) return undefined
  const marks = given.filter(([name]) => name === markName).map(([, value]) => value)
  return marks.length === 0 ? undefined : marks
}
