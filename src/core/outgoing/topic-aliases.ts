// Topic aliases of one connection, in both directions. Each keeps its topic until the connection ends. So
// mqtt.max_topic_alias_bytes limits the bytes of the names, in addition to the number of aliases.

import type { Topic } from '../../protocol/index.ts'
import type { MemoryAccount } from '../model/memory-account.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { Message } from '../messages/message.ts'

/** A topic without its name, and its entry. */
const entryBytes = 256
/** The name is stored as text and as bytes. */
const copiesOfName = 2

/** In each direction of one connection. */
export function computeMaxAliasNameBytes({ settings, memory }: Parts<'memory' | 'settings'>): number {
  return Math.floor(settings.maxTopicAliasBytes * memory.getShare('aliases'))
}

/** The first topics of a connection get the aliases of the client [MQTT5-3.1.2-26]. */
export function findOrAssignAlias(
  state: Parts<'memory' | 'settings'>,
  connection: Connection,
  { topic }: Message,
): { topicAlias: number; isKnown: boolean } | undefined {
  if (connection.outgoingAliasMaximum === 0) return undefined
  const aliases = (connection.outgoingAliases ??= new Map())
  const known = aliases.get(topic)
  if (known !== undefined) return { topicAlias: known, isKnown: true }
  const nameBytes = connection.outgoingAliasNameBytes + topic.bytes.length
  // Aliases of the broker are optional: without one the topic is sent in full.
  if (aliases.size >= connection.outgoingAliasMaximum || nameBytes > computeMaxAliasNameBytes(state)) return undefined
  aliases.set(topic, aliases.size + 1)
  connection.outgoingAliasNameBytes = nameBytes
  count(state.memory, connection, measureAliasName(topic))
  return { topicAlias: aliases.size, isKnown: false }
}

/** Assigns the client's alias to the topic. Returns false if the limit for the bytes of names is reached. */
export function setIncomingAlias(
  state: Parts<'memory' | 'settings'>,
  connection: Connection,
  aliases: (Topic | undefined)[],
  { alias, topic }: { readonly alias: number; readonly topic: Topic },
): boolean {
  const before = aliases[alias]
  if (before === topic) return true
  const nameBytes = connection.incomingAliasNameBytes + topic.bytes.length - (before?.bytes.length ?? 0)
  if (nameBytes > computeMaxAliasNameBytes(state) && connection.listener.isInternal !== true) return false
  aliases[alias] = topic
  connection.incomingAliasNameBytes = nameBytes
  count(state.memory, connection, measureAliasName(topic) - (before === undefined ? 0 : measureAliasName(before)))
  return true
}

/** Frees the aliases of a closed connection. */
export function forgetAliases(memory: MemoryAccount, connection: Connection): void {
  count(memory, connection, -connection.aliasBytes)
  connection.incomingAliasNameBytes = 0
  connection.outgoingAliasNameBytes = 0
  connection.outgoingAliases = undefined
}

function count(memory: MemoryAccount, connection: Connection, bytes: number): void {
  connection.aliasBytes += bytes
  memory.add('aliases', bytes)
}

/** A topic that several connections use counts for each of them. */
function measureAliasName(topic: Topic): number {
  return entryBytes + copiesOfName * topic.bytes.length
}
