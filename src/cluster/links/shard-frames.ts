// Frames that announce the start and the end of a shard.

import type { Life, PeerName } from '../peer-name.ts'
import type { AnnouncedShard } from './link-channel.ts'
import { LinkFailure } from './link-failure.ts'
import type { LinkBodyReader } from './link-frame-reader.ts'
import { frameNumberBytes, linkFrameKinds, LinkFrameWriter } from './link-frames.ts'

const shardUpBytes = frameNumberBytes + 4 + 1 + 2 + 4 + 6
const shardDownBytes = frameNumberBytes + 4
const nameKinds = { stored: 0, thread: 1 } as const

export function encodeShardUp(number: number, { id, name, epoch, incarnation }: AnnouncedShard): Buffer {
  const frame = new LinkFrameWriter(linkFrameKinds.shardUp, shardUpBytes).uint48(number).uint32(id)
  // Other shards belong to the life that announces them.
  if ('stored' in name) frame.uint8(nameKinds.stored).uint16(name.stored)
  else frame.uint8(nameKinds.thread).uint16(name.thread)
  return frame.uint32(epoch).uint48(incarnation).end()
}

/** Reads the body after the number. `life`: of the sender. */
export function readShardUp(reader: LinkBodyReader, life: Life): AnnouncedShard {
  const id = reader.uint32()
  const name = readName(reader, life)
  const shard = { id, name, epoch: reader.uint32(), incarnation: reader.uint48() }
  reader.expectEnd()
  return shard
}

export function encodeShardDown(number: number, id: number): Buffer {
  return new LinkFrameWriter(linkFrameKinds.shardDown, shardDownBytes).uint48(number).uint32(id).end()
}

function readName(reader: LinkBodyReader, life: Life): PeerName {
  const kind = reader.uint8()
  const number = reader.uint16()
  if (kind === nameKinds.stored) return { stored: number }
  if (kind === nameKinds.thread) return { life, thread: number }
  throw new LinkFailure('bad-frame', `a shard has a name of the unknown kind ${kind}`)
}
