// Fields of a publication that few messages have, after the header of its record:
//
//   | which fields | groups? | tried? | publisher, packet identifier? | remaining receivers? | user name? | mount point? |

import type { PeerNames, PeerPublish } from '../core/index.ts'
import type { FormerShard, RemainingReceivers } from '../records/index.ts'
import type { FieldWriter } from './field-writer.ts'
import type { LinkBufferReader } from './link-buffer-reader.ts'
import { LinkDecodeError } from './link-decode-error.ts'

/** Fields of a `PeerPublish` that few messages have. */
export type PublishDetails = Pick<PeerPublish, 'groups' | 'tried' | 'exactlyOnce' | 'isRepeat' | 'remaining'>

/** Further details of a single message. */
export interface MessageDetails extends Partial<PublishDetails> {
  readonly publisherUsername: string | undefined
  readonly isByOwnRight: boolean
  readonly publisherMountpoint: string
}

const detailFlags = {
  hasGroups: 1,
  hasTried: 2,
  hasExactlyOnce: 4,
  isRepeat: 8,
  hasRemaining: 16,
  hasUsername: 32,
  isByOwnRight: 64,
  hasMountpoint: 128,
} as const

const remainingFlags = { hasSubscribers: 1, hasGroups: 2, isDoneHere: 4 } as const
const minTextBytes = 4
const minNameBytes = 2
const minShardBytes = 2
/** Maximum number of shards that a node had. */
const maxFormerShards = 65_535

export function writeDetails(fields: FieldWriter, names: PeerNames, details: MessageDetails): void {
  const { groups, tried, exactlyOnce, remaining, publisherUsername, publisherMountpoint } = details
  fields.putUint8(encodeFlags(details))
  if (groups !== undefined) fields.putList(groups, (filter) => fields.putText(filter))
  if (tried !== undefined)
    // A shard that has left is not tried again anyway.
    fields.putList(
      tried.flatMap((number) => names.get(number) ?? []),
      (name) => fields.putPeer(name),
    )
  if (exactlyOnce !== undefined) fields.putText(exactlyOnce.publisher).putNumber(exactlyOnce.packetId)
  if (remaining !== undefined) writeRemaining(fields, remaining)
  if (publisherUsername !== undefined) fields.putText(publisherUsername)
  if (publisherMountpoint !== '') fields.putText(publisherMountpoint)
}

function encodeFlags(details: MessageDetails): number {
  return (
    (details.groups === undefined ? 0 : detailFlags.hasGroups) |
    (details.tried === undefined ? 0 : detailFlags.hasTried) |
    (details.exactlyOnce === undefined ? 0 : detailFlags.hasExactlyOnce) |
    (details.isRepeat === true ? detailFlags.isRepeat : 0) |
    (details.remaining === undefined ? 0 : detailFlags.hasRemaining) |
    (details.publisherUsername === undefined ? 0 : detailFlags.hasUsername) |
    (details.isByOwnRight ? detailFlags.isByOwnRight : 0) |
    (details.publisherMountpoint === '' ? 0 : detailFlags.hasMountpoint)
  )
}

export function readDetails(reader: LinkBufferReader, names: PeerNames): MessageDetails {
  const flags = reader.uint8()
  const has = (flag: number): boolean => (flags & flag) !== 0
  // The properties of the object are evaluated in this order, which is that of the fields.
  return {
    groups: has(detailFlags.hasGroups) ? reader.list(minTextBytes, () => reader.filter()) : undefined,
    tried: has(detailFlags.hasTried) ? readTried(reader, names) : undefined,
    exactlyOnce: has(detailFlags.hasExactlyOnce)
      ? { publisher: reader.text(), packetId: reader.packetId() }
      : undefined,
    isRepeat: has(detailFlags.isRepeat) ? true : undefined,
    remaining: has(detailFlags.hasRemaining) ? readRemaining(reader) : undefined,
    publisherUsername: has(detailFlags.hasUsername) ? reader.text() : undefined,
    isByOwnRight: has(detailFlags.isByOwnRight),
    publisherMountpoint: has(detailFlags.hasMountpoint) ? reader.text() : '',
  }
}

/** Shards that this shard does not know are omitted: they are not members of a group here. */
function readTried(reader: LinkBufferReader, names: PeerNames): number[] {
  return reader.list(minNameBytes, () => names.find(reader.peer())).filter((number) => number !== undefined)
}

function writeRemaining(fields: FieldWriter, remaining: RemainingReceivers): void {
  const { subscribersOf, doneOn, groups, doneGroups, isDoneHere } = remaining
  fields.putUint8(
    (subscribersOf === undefined ? 0 : remainingFlags.hasSubscribers) |
      (groups === undefined ? 0 : remainingFlags.hasGroups) |
      (isDoneHere ? remainingFlags.isDoneHere : 0),
  )
  const writeShard = ({ shard, of }: FormerShard): void => void fields.putNumber(shard).putNumber(of)
  if (subscribersOf !== undefined) fields.putList(subscribersOf, writeShard)
  fields.putList(doneOn, writeShard)
  if (groups !== undefined) fields.putList(groups, (filter) => fields.putText(filter))
  fields.putList(doneGroups, (filter) => fields.putText(filter))
}

function readRemaining(reader: LinkBufferReader): RemainingReceivers {
  const flags = reader.flags(remainingFlags.hasSubscribers | remainingFlags.hasGroups | remainingFlags.isDoneHere)
  const readShards = (): FormerShard[] => reader.list(minShardBytes, () => readFormerShard(reader))
  const readFilters = (): string[] => reader.list(minTextBytes, () => reader.filter())
  return {
    subscribersOf: (flags & remainingFlags.hasSubscribers) === 0 ? undefined : readShards(),
    doneOn: readShards(),
    groups: (flags & remainingFlags.hasGroups) === 0 ? undefined : readFilters(),
    doneGroups: readFilters(),
    isDoneHere: (flags & remainingFlags.isDoneHere) !== 0,
  }
}

function readFormerShard(reader: LinkBufferReader): FormerShard {
  const shard = reader.number(maxFormerShards)
  const of = reader.number(maxFormerShards)
  if (shard >= of) throw new LinkDecodeError(`shard ${shard} of ${of} does not exist`)
  return { shard, of }
}
