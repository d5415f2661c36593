// Messages of sources (`$bridges/mqtt:NAME` after FROM) are for rules alone. They are publications of the source's own client,
// below a topic that nobody else publishes to and nobody is subscribed to.

import { bridgeClientId } from './bridge-client-id.ts'

const root = '$bridges/'
const sourceNamePrefix = '$source/'
const dollar = 36

/** The name of the bridge that receives for a source, and of its session. `source`: `type:name`. */
export function sourceBridgeName(source: string): string {
  return sourceNamePrefix + source
}

/** `type:name`; undefined: the bridge is none of a source. */
export function sourceOfBridge(name: string): string | undefined {
  return name.startsWith(sourceNamePrefix) ? name.slice(sourceNamePrefix.length) : undefined
}

/** In front of the topics that messages of a source have at their origin. */
export function sourceTopicPrefix(source: string): string {
  return `${root}${source}/`
}

/** The source, and the topic that the message has at its origin. */
export function splitSourceTopic(topic: string): { readonly source: string; readonly topic: string } | undefined {
  if (!isSourceTopic(topic)) return undefined
  const end = topic.indexOf('/', root.length)
  return end === -1 ? undefined : { source: topic.slice(root.length, end), topic: topic.slice(end + 1) }
}

export function isSourceTopic(topic: string): boolean {
  return topic.charCodeAt(0) === dollar && topic.startsWith(root)
}

export function isSourceClient(clientId: string): boolean {
  return clientId.startsWith(bridgeClientId(sourceNamePrefix))
}
