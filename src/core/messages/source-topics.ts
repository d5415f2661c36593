// Messages of sources (`$bridges/mqtt:NAME` after FROM), which only rules receive. The client of the source publishes
// them below a topic that clients can neither publish nor subscribe to.

import { toBridgeClientId } from './internal-clients.ts'

/** Prefix of the topics of all sources. */
export const sourcesRoot = '$bridges/'
const sourceNamePrefix = '$source/'
const dollar = 36

/**
 * Returns the name of the bridge that receives for a source, which is also that of its session. `source` is
 * `type:name`.
 */
export function toSourceBridgeName(source: string): string {
  return sourceNamePrefix + source
}

/** Returns `type:name`; undefined if the bridge does not belong to a source. */
export function parseSourceBridgeName(name: string): string | undefined {
  return name.startsWith(sourceNamePrefix) ? name.slice(sourceNamePrefix.length) : undefined
}

/** Returns the prefix of topics of a source's messages. */
export function toSourceTopicPrefix(source: string): string {
  return `${sourcesRoot}${source}/`
}

/** Returns the source and the original topic of the message. */
export function splitSourceTopic(topic: string): { readonly source: string; readonly topic: string } | undefined {
  if (!isSourceTopic(topic)) return undefined
  const end = topic.indexOf('/', sourcesRoot.length)
  return end === -1 ? undefined : { source: topic.slice(sourcesRoot.length, end), topic: topic.slice(end + 1) }
}

export function isSourceTopic(topic: string): boolean {
  return topic.charCodeAt(0) === dollar && topic.startsWith(sourcesRoot)
}

export function isSourceClient(clientId: string): boolean {
  return clientId.startsWith(toBridgeClientId(sourceNamePrefix))
}
