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

import { brokerNameTopic, hopMarkName as markName, isNameOfBroker } from '../core/index.ts'
import type { ConnackPacket, MessageProperties, Packet, PublishProperties, UserProperties } from '../protocol/index.ts'

/** A message has been at so many brokers at most. */
const mostMarks = 8

export class HopMark {
  readonly #brokerId: string
  /** Of the remote broker, if it is one of ours and says so. */
  readonly #remoteId: string | undefined
  readonly #mark: UserProperties
  /** Most messages have no properties of their own, and share these. */
  readonly #markAlone: MessageProperties
  readonly #bothMarks: MessageProperties

  constructor(brokerId: string, remoteId: string | undefined) {
    this.#brokerId = brokerId
    this.#remoteId = remoteId
    this.#mark = [[markName, brokerId]]
    this.#markAlone = { userProperties: this.#mark }
    this.#bothMarks = {
      userProperties: [...(remoteId === undefined ? [] : [[markName, remoteId] as const]), ...this.#mark],
    }
  }

  mayLeave(properties: PublishProperties | undefined): boolean {
    const marks = marksOf(properties)
    if (marks === undefined) return true
    if (this.#remoteId !== undefined && marks.includes(this.#remoteId)) return false
    const own = marks.indexOf(this.#brokerId)
    return marks.length < mostMarks && (own === -1 || own === marks.length - 1)
  }

  mayEnter(properties: PublishProperties | undefined): boolean {
    const marks = marksOf(properties)
    return marks === undefined || (marks.length < mostMarks && !marks.includes(this.#brokerId))
  }

  /** What a message takes along that comes from the remote broker. */
  brought(properties: PublishProperties | undefined): MessageProperties {
    if (properties === undefined) return this.#bothMarks
    const remoteId = this.#remoteId
    if (remoteId === undefined || marksOf(properties)?.includes(remoteId) === true) return this.marked(properties)
    const userProperties = [...(properties.userProperties ?? []), [markName, remoteId] as const]
    return this.marked({ ...properties, userProperties })
  }

  /** What a message takes along that goes to it. */
  marked(properties: PublishProperties | undefined): MessageProperties {
    if (properties === undefined) return this.#markAlone
    // Aliases and subscription identifiers are a matter of one connection.
    const { topicAlias: _alias, subscriptionIdentifiers: _identifiers, ...own } = properties
    if (marksOf(properties)?.at(-1) === this.#brokerId) return own
    return { ...own, userProperties: [...(own.userProperties ?? []), ...this.#mark] }
  }
}

/** What the remote broker calls itself; undefined: it does not say, or nobody is called so. */
export function nameIn({ properties }: ConnackPacket): string | undefined {
  const name = marksOf(properties)?.at(-1)
  return name !== undefined && isNameOfBroker(name) ? name : undefined
}

/** Whether this is how a Godwit tells its name before 5.0. */
export function tellsName(packet: Packet): boolean {
  if (packet.type !== 'publish' || packet.qos !== 0 || packet.topic?.name !== brokerNameTopic) return false
  // A name is ASCII: whatever else these bytes are, it is none then.
  return isNameOfBroker(packet.chunk.toString('latin1', packet.payloadStart, packet.frameEnd))
}

/** In the order in which they were made; undefined: there are none. */
function marksOf(properties: { readonly userProperties?: UserProperties } | undefined): string[] | undefined {
  const given = properties?.userProperties
  if (given === undefined) return undefined
  const marks = given.filter(([name]) => name === markName).map(([, value]) => value)
  return marks.length === 0 ? undefined : marks
}
