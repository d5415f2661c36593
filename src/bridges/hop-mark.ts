// How messages that go round are found out. Each bridge marks what it takes out of its broker with the name of that
// broker; who finds its own name in what comes back does not take it, and a message that has gone over too many bridges
// goes no further. The mark is a user property, so it lives in MQTT 5.0 only; between two brokers no-local does it.

import type { MessageProperties, PublishProperties, UserProperties } from '../protocol/index.ts'

const markName = 'godwit-via'
/** A message has gone over so many bridges at most. */
const maxHops = 8

export function hasBeenAt(properties: PublishProperties | undefined, brokerId: string): boolean {
  const given = properties?.userProperties
  return given !== undefined && given.some(([name, value]) => name === markName && value === brokerId)
}

export function isTooFar(properties: PublishProperties | undefined): boolean {
  const given = properties?.userProperties
  return given !== undefined && given.filter(([name]) => name === markName).length >= maxHops
}

/** What a message takes along from one side to the other. */
export class CarriedProperties {
  readonly #mark: UserProperties
  /** Most messages have none of their own, and share this. */
  readonly #markAlone: MessageProperties

  constructor(brokerId: string) {
    this.#mark = [[markName, brokerId]]
    this.#markAlone = { userProperties: this.#mark }
  }

  marked(properties: PublishProperties | undefined): MessageProperties {
    if (properties === undefined) return this.#markAlone
    const own = ownOf(properties)
    return { ...own, userProperties: [...(own.userProperties ?? []), ...this.#mark] }
  }
}

/** Aliases and subscription identifiers are a matter of one connection. */
export function ownOf(properties: PublishProperties): MessageProperties {
  const { topicAlias: _alias, subscriptionIdentifiers: _identifiers, ...own } = properties
  return own
}
