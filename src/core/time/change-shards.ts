// What is stored about deliveries that were not complete on all shards when the node ended, if it starts with another number of shards.
// Records of then name shards by numbers, which now name other shards or none. Here they are translated, before any shard starts:
//
//   forwarded, shard 1 of 3     this shard has the message    ─┐
//   incoming, went to 1 and 2   these shards had subscribers  ─┴─► incoming, remaining: subscribers of "2 of 3", done: "0 of 3, 1 of 3"
//   will, published             its own shard has it          ───► will, remaining: done "0 of 3"
//   delayed message             other shards may have it      ───► the same, done "1 of 3"
//   handoff                     QoS 2: its shard has it       ───► deleted; otherwise: any shard with a member
//
// All changes of one message are in one group, and a group applied twice changes nothing more. So the node may fail in between.

import type {
  ForwardedRecord,
  FormerShard,
  HandoffRecord,
  IncomingRecord,
  RemainingReceivers,
  RecordKind,
  StoredChange,
  StoredRecord,
  WillRecord,
} from '../../records/index.ts'
import { otherSubscribers } from '../../records/index.ts'
import { computeOwnerShard } from '../model/peer-messages.ts'
import { toClientId, isDelayedName, isInternalName, toDelayedPeerName } from '../namespaces/internal-session-names.ts'
import { parsePeerName, toPeerName } from '../peers/qos2-forwarding.ts'

/** `from`: 0 if the earlier number is unknown. Then a message is repeated to all receivers that may need it. */
export interface NumberOfShards {
  readonly from: number
  readonly to: number
}

/** Kinds of records to read, in this order. */
export const shardChangeKinds = [
  'forwarded',
  'session',
  'incoming',
  'will',
  'handoff',
] as const satisfies readonly RecordKind[]

/** Packet identifier of all unique names. */
const onlyPacketId = 1

export class ShardChange {
  readonly #shards: NumberOfShards
  /** By name of the publisher and packet identifier. */
  readonly #forwarded = new Map<string, ForwardedRecord[]>()
  /** Client IDs of publishers with forwarded messages, and the names of their sessions. */
  readonly #publishers = new Map<string, string | undefined>()
  readonly #groups: StoredChange[][] = []

  constructor(shards: NumberOfShards) {
    this.#shards = shards
  }

  /** Records of `shardChangeKinds`, in the order of the kinds. Others are ignored. */
  add(record: StoredRecord): void {
    if (record.kind === 'forwarded') this.#addForwarded(record)
    else if (record.kind === 'session' && this.#publishers.has(record.clientId))
      this.#publishers.set(record.clientId, toPeerName(record))
    else if (record.kind === 'incoming') this.#changeIncoming(record)
    else if (record.kind === 'will') this.#changeWill(record)
    else if (record.kind === 'handoff') this.#changeHandoff(record)
  }

  /** Returns the changes. Those of one group must be committed together. */
  takeGroups(): readonly (readonly StoredChange[])[] {
    for (const records of this.#forwarded.values()) this.#changeUnaccepted(records)
    this.#forwarded.clear()
    return this.#groups
  }

  #addForwarded(record: ForwardedRecord): void {
    const key = toExchangeKey(record.publisher, record.packetId)
    const known = this.#forwarded.get(key)
    if (known === undefined) this.#forwarded.set(key, [record])
    else known.push(record)
    const clientId = parsePeerName(record.publisher)
    if (clientId !== undefined) this.#publishers.set(clientId, undefined)
  }

  /** Returns the records of a message on other shards, and no longer keeps them. */
  #takeForwarded(publisher: string | undefined, packetId: number): ForwardedRecord[] {
    if (publisher === undefined) return []
    const key = toExchangeKey(publisher, packetId)
    const records = this.#forwarded.get(key) ?? []
    this.#forwarded.delete(key)
    return records
  }

  #changeIncoming(record: IncomingRecord): void {
    const { clientId, packetId } = record
    const forwarded = this.#takeForwarded(this.#publishers.get(clientId), packetId)
    const own = this.#toFormerShards(computeOwnerShard(clientId, Math.max(this.#shards.from, 1)))
    const remaining = this.#createRemaining(record, own, forwarded)
    this.#change({ ...record, assignments: [], remaining }, forwarded)
  }

  /** The shard of the publisher had not stored the message: the client will send it again. Other names need nothing any more. */
  #changeUnaccepted(forwarded: readonly ForwardedRecord[]): void {
    const [{ publisher, packetId }] = forwarded as [ForwardedRecord]
    const clientId = parsePeerName(publisher)
    if (clientId === undefined || this.#publishers.get(clientId) !== publisher)
      return this.#change(undefined, forwarded)
    const remaining = {
      subscribersOf: undefined,
      groups: undefined,
      ...this.#collectDone(forwarded),
      isDoneHere: false,
    }
    this.#change({ kind: 'incoming', clientId, packetId, assignments: [], remaining, isPartial: true }, forwarded)
  }

  #changeWill(record: WillRecord): void {
    const { clientId: name, remaining: earlier } = record
    const hasName = isInternalName(name) && isDelayedName(name)
    const forwarded = hasName ? this.#takeForwarded(toDelayedPeerName(name), onlyPacketId) : []
    const isPublished = record.message.isRepeat
    if (!isPublished && forwarded.length === 0) return
    const own = isPublished
      ? this.#toFormerShards(computeOwnerShard(toClientId(name), Math.max(this.#shards.from, 1)))
      : []
    const done = this.#collectDone(forwarded)
    const remaining: RemainingReceivers = {
      subscribersOf: earlier?.subscribersOf,
      doneOn: mergeShards(earlier?.doneOn, [...(earlier?.isDoneHere === false ? [] : own), ...done.doneOn]),
      groups: earlier?.groups,
      doneGroups: [...new Set([...(earlier?.doneGroups ?? []), ...done.doneGroups])],
      isDoneHere: false,
    }
    this.#change({ ...record, remaining }, forwarded)
  }

  #changeHandoff(record: HandoffRecord): void {
    const { shard, name, filter, to } = record
    const forwarded = this.#takeForwarded(name, onlyPacketId)
    const isDone = record.message.qos === 2 && isAssigned(forwarded, filter, to)
    if (isDone)
      this.#groups.push([{ change: 'delete', key: { kind: 'handoff', shard, name } }, ...createDeletions(forwarded)])
    // Its shard gives the message to a member of its own if there is one, and otherwise to a shard that has one.
    else this.#change({ ...record, to: shard % this.#shards.to }, forwarded)
  }

  #createRemaining(
    { assignments, remaining: earlier, isPartial }: IncomingRecord,
    own: readonly FormerShard[],
    forwarded: readonly ForwardedRecord[],
  ): RemainingReceivers {
    const done = this.#collectDone(forwarded)
    const doneGroups = [...new Set([...(earlier?.doneGroups ?? []), ...done.doneGroups])]
    const isHandled = isPartial !== true && earlier?.isDoneHere !== false
    const doneOn = mergeShards(earlier?.doneOn, [...(isHandled ? own : []), ...done.doneOn])
    if (!isHandled || assignments === undefined || this.#shards.from === 0)
      return { subscribersOf: earlier?.subscribersOf, doneOn, groups: earlier?.groups, doneGroups, isDoneHere: false }
    const wentTo = assignments.filter(({ filter }) => filter === otherSubscribers)
    const groups = assignments.filter(
      ({ filter, to }) =>
        filter !== otherSubscribers && !own.some(({ shard }) => shard === to) && !isAssigned(forwarded, filter, to),
    )
    return {
      subscribersOf: earlier?.subscribersOf ?? wentTo.flatMap(({ to }) => this.#toFormerShards(to)),
      doneOn,
      groups: groups.map(({ filter }) => filter),
      doneGroups,
      isDoneHere: false,
    }
  }

  #collectDone(forwarded: readonly ForwardedRecord[]): Pick<RemainingReceivers, 'doneOn' | 'doneGroups'> {
    const doneGroups = forwarded.flatMap(({ shard, assignments }) =>
      (assignments ?? []).filter(({ filter, to }) => filter !== otherSubscribers && to === shard),
    )
    return {
      doneOn: forwarded.flatMap(({ shard }) => this.#toFormerShards(shard)),
      doneGroups: doneGroups.map(({ filter }) => filter),
    }
  }

  /** Returns nothing if the earlier number of shards is unknown: then a number of a shard says nothing. */
  #toFormerShards(shard: number): readonly FormerShard[] {
    const { from } = this.#shards
    return from === 0 ? [] : [{ shard, of: from }]
  }

  #change(record: StoredRecord | undefined, forwarded: readonly ForwardedRecord[]): void {
    const put: StoredChange[] = record === undefined ? [] : [{ change: 'put', record }]
    this.#groups.push([...put, ...createDeletions(forwarded)])
  }
}

/** Translates records that are in memory. */
export function changeShards(records: readonly StoredRecord[], shards: NumberOfShards): StoredChange[] {
  if (shards.from === shards.to) return []
  const change = new ShardChange(shards)
  for (const kind of shardChangeKinds) for (const record of records) if (record.kind === kind) change.add(record)
  return change.takeGroups().flat()
}

function toExchangeKey(publisher: string, packetId: number): string {
  return `${packetId} ${publisher}`
}

function createDeletions(forwarded: readonly ForwardedRecord[]): StoredChange[] {
  return forwarded.map(({ kind, shard, publisher, packetId }) => ({
    change: 'delete',
    key: { kind, shard, publisher, packetId },
  }))
}

/** Returns whether a member has the message, on the shard `to` or on one that it was passed on to. */
function isAssigned(forwarded: readonly ForwardedRecord[], filter: string, to: number): boolean {
  const seen = new Set<number>()
  for (let shard = to; !seen.has(shard);) {
    seen.add(shard)
    const record = forwarded.find((one) => one.shard === shard)
    if (record === undefined) return false
    if (record.assignments === undefined) return true // A version that passed on nothing.
    const next = record.assignments.find((one) => one.filter === filter)
    if (next === undefined) return false
    if (next.to === shard) return true
    shard = next.to
  }
  return false
}

function includesAll(list: readonly FormerShard[], items: readonly FormerShard[]): boolean {
  return items.every(({ shard, of }) => list.some((one) => one.shard === shard && one.of === of))
}

function mergeShards(earlier: readonly FormerShard[] | undefined, added: readonly FormerShard[]): FormerShard[] {
  const all = [...(earlier ?? [])]
  for (const one of added) if (!includesAll(all, [one])) all.push(one)
  return all
}
