// How messages that go round are found out. A bridge marks what it takes out of its broker, and what it brings in, with
// the name of that broker:
//
//   published at A --bridge of A--> B  [A]  --bridge of B--> C  [A, B]  --bridge of C--> A  [A, B, C]  and no further
//
// What has the name of its broker in front of another one has been away and is back: it does not leave again. Where the
// remote broker is a Godwit and tells its name in CONNACK, what has been there does not go there. What comes in
// by the bridge itself and has its broker's name is not taken. A message that has been at too many brokers goes no further
// either. The mark is a user property, so it lives in MQTT 5.0 only: two Godwits speak that with each other, whatever is
// configured (`version-negotiation.ts`). Over one bridge no-local does it for all versions.

import { brokerNameTopic, loopMarkerName as markName, isBrokerName } from '../core/index.ts'
import type { ConnackPacket, MessageProperties, Packet, PublishProperties, UserProperties } from '../protocol/index.ts'

/** A message has been at so many brokers at most. */
const maxMarkers = 8

export class LoopMarker {
  readonly #brokerId: string
  /** Of the remote broker, if it is one of ours and says so. */
  readonly #remoteId: string | undefined
  readonly #marker: UserProperties
  /** Most messages have no properties of their own, and share these. */
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
    const marks = markersOf(properties)
    if (marks === undefined) return true
    if (this.#remoteId !== undefined && marks.includes(this.#remoteId)) return false
    const own = marks.indexOf(this.#brokerId)
    return marks.length < maxMarkers && (own === -1 || own === marks.length - 1)
  }

  canReceive(properties: PublishProperties | undefined): boolean {
    const marks = markersOf(properties)
    return marks === undefined || (marks.length < maxMarkers && !marks.includes(this.#brokerId))
  }

  /** What a message takes along that comes from the remote broker. */
  markReceived(properties: PublishProperties | undefined): MessageProperties {
    if (properties === undefined) return this.#bothMarkers
    const remoteId = this.#remoteId
    if (remoteId === undefined || markersOf(properties)?.includes(remoteId) === true)
      return this.markForwarded(properties)
    const userProperties = [...(properties.userProperties ?? []), [markName, remoteId] as const]
    return this.markForwarded({ ...properties, userProperties })
  }

  /** What a message takes along that goes to it. */
  markForwarded(properties: PublishProperties | undefined): MessageProperties {
    if (properties === undefined) return this.#markerOnly
    // Aliases and subscription identifiers are a matter of one connection.
    const { topicAlias: _alias, subscriptionIdentifiers: _identifiers, ...own } = properties
    if (markersOf(properties)?.at(-1) === this.#brokerId) return own
    return { ...own, userProperties: [...(own.userProperties ?? []), ...this.#marker] }
  }
}

/** What the remote broker calls itself; undefined: it does not say, or nobody is called so. */
export function nameIn({ properties }: ConnackPacket): string | undefined {
  const name = markersOf(properties)?.at(-1)
  return name !== undefined && isBrokerName(name) ? name : undefined
}

/** Whether this is how a Godwit tells its name before 5.0. */
export function isNameAnnouncement(packet: Packet): boolean {
  if (packet.type !== 'publish' || packet.qos !== 0 || packet.topic?.name !== brokerNameTopic) return false
  // A name is ASCII: whatever else these bytes are, it is none then.
  return isBrokerName(packet.chunk.toString('latin1', packet.payloadStart, packet.frameEnd))
}

/** In the order in which they were made; undefined: there are none. */
function markersOf(properties: { readonly userProperties?: UserProperties } | undefined): string[] | undefined {
  const given = properties?.userProperties
  if (given === undefined) return undefined
  const marks = given.filter(([name]) => name === markName).map(([, value]) => value)
  return marks.length === 0 ? undefined : marks
}
