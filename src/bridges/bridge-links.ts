// The two connections of a bridge, and the limits of their packets.

import { type PacketLimits, type ProtocolVersion, TopicTable } from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'
import { maxCachedTopics } from './transfer/message-transfer.ts'
import { type LinkCallbacks, PacketLink, createReceiveLimits } from '../mqtt-client/index.ts'
import type { BridgeDependencies } from './model/bridge-dependencies.ts'

/** The remote broker does not get this limit. Messages with more properties are skipped, up to this size. */
const maxRemotePropertyBytes = 1_048_576

/** Connects to the own broker. */
export function openLocalLink(owner: LinkCallbacks, dependencies: BridgeDependencies): PacketLink {
  return createLink(owner, dependencies.broker.open(), dependencies, {
    version: 5,
    // Packets may also be from before a limit was lowered.
    limits: createReceiveLimits(),
    ownsChunks: false,
  })
}

/** Connects to the remote broker. */
export function openRemoteLink(
  owner: LinkCallbacks,
  stream: ByteStream,
  version: ProtocolVersion,
  dependencies: BridgeDependencies,
): PacketLink {
  const { limits } = dependencies.broker
  const maxPropertyBytes = Math.max(limits.maxPropertyBytes, maxRemotePropertyBytes)
  return createLink(owner, stream, dependencies, { version, limits: { ...limits, maxPropertyBytes }, ownsChunks: true })
}

function createLink(
  owner: LinkCallbacks,
  stream: ByteStream,
  dependencies: BridgeDependencies,
  { version, limits, ownsChunks }: { version: ProtocolVersion; limits: PacketLimits; ownsChunks: boolean },
): PacketLink {
  const decoder = { role: 'client', version, topics: new TopicTable(maxCachedTopics), ...limits } as const
  return new PacketLink(owner, stream, { decoder, ownsChunks, later: (work) => dependencies.later(work) })
}
