// The two connections of a bridge, and what is read of either side.

import { type PacketLimits, type ProtocolVersion, TopicTable } from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'
import { topicsRemembered } from './message-transfer.ts'
import { type LinkOwner, PacketLink } from './packet-link.ts'
import type { BridgeWorld } from './world.ts'

const largestPacketBytes = 268_435_460
/** Our own core is believed: what it has taken may be longer in 5.0 than it came, or older than the limits of today. */
const limitsHere: PacketLimits = {
  maxPacketBytes: largestPacketBytes,
  maxPropertyBytes: largestPacketBytes,
  maxTopicLevels: 65_535,
  maxTopicBytes: 65_535,
}
/** The remote broker is not told how many we take. Messages that have more are passed over one by one, up to this. */
const mostPropertyBytes = 1_048_576

/** To our own broker. */
export function linkHere(owner: LinkOwner, world: BridgeWorld): PacketLink {
  return linkOver(owner, world.broker.open(), world, { version: 5, limits: limitsHere, ownsChunks: false })
}

/** To the remote broker. */
export function linkThere(
  owner: LinkOwner,
  stream: ByteStream,
  version: ProtocolVersion,
  world: BridgeWorld,
): PacketLink {
  const { limits } = world.broker
  const maxPropertyBytes = Math.max(limits.maxPropertyBytes, mostPropertyBytes)
  return linkOver(owner, stream, world, { version, limits: { ...limits, maxPropertyBytes }, ownsChunks: true })
}

function linkOver(
  owner: LinkOwner,
  stream: ByteStream,
  world: BridgeWorld,
  how: { version: ProtocolVersion; limits: PacketLimits; ownsChunks: boolean },
): PacketLink {
  const topics = new TopicTable(topicsRemembered)
  return new PacketLink(owner, stream, { ...how, topics, later: (work) => world.later(work) })
}
