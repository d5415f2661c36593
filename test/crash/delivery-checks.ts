// Checks at the end of a crash scenario. Each returns sentences about violated rules.

import { isRetained, type Publisher } from './publisher.ts'
import type { Subscriber } from './subscriber.ts'

/** Acknowledged messages that `subscribers` did not receive: each of them, or the members of a shared group together. */
export function missingFor(publishers: readonly Publisher[], subscribers: readonly Subscriber[]): string[] {
  return publishers.flatMap((publisher) => {
    const received = new Set(subscribers.flatMap((subscriber) => subscriber.received.get(publisher.topic) ?? []))
    const lost = publisher.acknowledged.filter((number) => !received.has(number))
    return lost.map((number) => `${namesOf(subscribers)} never got ${number} of ${publisher.clientId}`)
  })
}

/** [MQTT-4.3.3-1] [MQTT5-4.3.3-1] QoS 2 from end to end: no subscriber, and no two members of a shared group, receive a message twice. */
export function repeatedFor(publishers: readonly Publisher[], subscribers: readonly Subscriber[]): string[] {
  return publishers.flatMap((publisher) => {
    if (Math.min(publisher.qos, ...subscribers.map(({ qos }) => qos)) < 2) return []
    const all = subscribers.flatMap((subscriber) => subscriber.received.get(publisher.topic) ?? [])
    const seen = new Set<number>()
    const repeated = all.filter((number) => seen.size === seen.add(number).size)
    return repeated.map((number) => `${namesOf(subscribers)} got ${number} of ${publisher.clientId} twice`)
  })
}

/** [MQTT-4.6.0-6] [MQTT5-4.6.0-6] The first delivery of each number follows those of all lower numbers that arrived. */
export function outOfOrderFor(publishers: readonly Publisher[], subscriber: Subscriber): string[] {
  return publishers.flatMap((publisher) => {
    const seen = new Set<number>()
    const faults: string[] = []
    let highest = 0
    for (const number of subscriber.received.get(publisher.topic) ?? []) {
      if (seen.has(number)) continue
      seen.add(number)
      if (number < highest)
        faults.push(`${subscriber.clientId} got ${number} of ${publisher.clientId} after ${highest}`)
      highest = Math.max(highest, number)
    }
    return faults
  })
}

/** Returns received messages that no client published: without a number, or with a number above the last published one. */
export function unpublishedFor(publishers: readonly Publisher[], subscriber: Subscriber): string[] {
  return [...subscriber.received].flatMap(([topic, numbers]) => {
    const last = publishers.find((publisher) => publisher.topic === topic)?.last ?? 0
    const unpublished = numbers.filter((number) => !(number >= 1 && number <= last))
    return unpublished.map((number) => `${subscriber.clientId} got ${number} on ${topic}, which no client published`)
  })
}

/** Returns topics whose retained message is not the last acknowledged one. */
export function wrongRetainedFor(publishers: readonly Publisher[], latecomer: Subscriber): string[] {
  return publishers.flatMap((publisher) => {
    const last = publisher.acknowledged.filter(isRetained).reduce((one, other) => Math.max(one, other), 0)
    const found = latecomer.retained.get(publisher.topic) ?? 0
    return found === last
      ? []
      : [`the retained message of ${publisher.topic} has number ${found}, but ${last} was the last acknowledged one`]
  })
}

function namesOf(subscribers: readonly Subscriber[]): string {
  return subscribers.map(({ clientId }) => clientId).join(' and ')
}
