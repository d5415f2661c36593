// How messages that go round are found out. A bridge marks what it takes out of its broker, and what it brings in, with
// the name of that broker:
//
//   published at A --bridge of A--> B  [A]  --bridge of B--> C  [A, B]  --bridge of C--> A  [A, B, C]  and no further
//
// What has the name of its broker in front of another one has been away and is back: it does not leave again. What comes in
// by the bridge itself and has its broker's name is not taken. A message that has been at too many brokers goes no further
// either. The mark is a user property, so it lives in MQTT 5.0 only; over one bridge no-local does it for all versions.

import type { MessageProperties, PublishProperties, UserProperties } from '../protocol/index.ts'

const markName = 'godwit-via'
/** A message has been at so many brokers at most. */
const mostMarks = 8

export class HopMark {
  readonly #brokerId: string
  readonly #mark: UserProperties
  /** Most messages have no properties of their own, and share these. */
  readonly #markAlone: MessageProperties

  constructor(brokerId: string) {
    this.#brokerId = brokerId
    this.#mark = [[markName, brokerId]]
    this.#markAlone = { userProperties: this.#mark }
  }

  mayLeave(properties: PublishProperties | undefined): boolean {
    const marks = marksOf(properties)
    if (marks === undefined) return true
    const own = marks.indexOf(this.#brokerId)
    return marks.length < mostMarks && (own === -1 || own === marks.length - 1)
  }

  mayEnter(properties: PublishProperties | undefined): boolean {
    const marks = marksOf(properties)
    return marks === undefined || (marks.length < mostMarks && !marks.includes(this.#brokerId))
  }

  /** What a message takes along from one side to the other. */
  marked(properties: PublishProperties | undefined): MessageProperties {
    if (properties === undefined) return this.#markAlone
    // Aliases and subscription identifiers are a matter of one connection.
    const { topicAlias: _alias, subscriptionIdentifiers: _identifiers, ...own } = properties
    if (marksOf(properties)?.at(-1) === this.#brokerId) return own
    return { ...own, userProperties: [...(own.userProperties ?? []), ...this.#mark] }
  }
}

/** In the order in which they were made; undefined: there are none. */
function marksOf(properties: PublishProperties | undefined): string[] | undefined {
  const given = properties?.userProperties
  if (given === undefined) return undefined
  const marks = given.filter(([name]) => name === markName).map(([, value]) => value)
  return marks.length === 0 ? undefined : marks
}
