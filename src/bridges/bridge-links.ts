// The two connections of a bridge, and what is read of either side.

import { type PacketLimits, type ProtocolVersion, TopicTable } from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'
import { maxCachedTopics } from './message-transfer.ts'
import { type LinkCallbacks, PacketLink } from './packet-link.ts'
import type { BridgeDependencies } from './world.ts'

const maxPacketBytes = 268_435_460
/** Our own core is believed: what it has taken may be longer in 5.0 than it came, or older than the limits of today. */
const localLimits: PacketLimits = {
  maxPacketBytes: maxPacketBytes,
  maxPropertyBytes: maxPacketBytes,
  maxTopicLevels: 65_535,
  maxTopicBytes: 65_535,
}
/** The remote broker is not told how many we take. Messages that have more are passed over one by one, up to this. */
const maxRemotePropertyBytes = 1_048_576

/** To our own broker. */
export function linkLocal(owner: LinkCallbacks, dependencies: BridgeDependencies): PacketLink {
  return createLink(owner, dependencies.broker.open(), dependencies, {
    version: 5,
    limits: localLimits,
    ownsChunks: false,
  })
}

/** To the remote broker. */
export function linkRemote(
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
  how: { version: ProtocolVersion; limits: PacketLimits; ownsChunks: boolean },
): PacketLink {
  const topics = new TopicTable(maxCachedTopics)
  return new PacketLink(owner, stream, { ...how, topics, later: (work) => dependencies.later(work) })
}
