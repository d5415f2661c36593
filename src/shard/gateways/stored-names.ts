// Names of the values that gateways store across restarts:
//
//   gateway-2/<type>/<kind of listener>/<name of listener>/<name within the listener>
//
// Earlier versions stored them without the kind (`gateway/<type>/<name of listener>/...`), although a gateway may have a UDP and a DTLS
// listener of one name. Then both restored the same devices, and each disconnected those of the other. Such values are moved to the listener of
// their device when it opens.

import { findOwnerShard, type ShardPlace } from '../../gateways/index.ts'
import type { GatewayAssignment } from '../messages/gateway-plan.ts'

/** Separates the client ID from the rest of a name: see `stored-sessions.ts` of MQTT-SN. */
const separator = '\0'
/** Mark of the value that exists while a client of MQTT-SN sleeps. */
const sleepMark = 's'

type Named = Pick<GatewayAssignment, 'type' | 'listener'>

export interface StoredValue {
  readonly name: string
  /** Undefined: it is deleted. */
  readonly value: string | undefined
}

export interface StoredValues {
  /** By name within the listener. */
  readonly own: ReadonlyMap<string, string>
  /** Changes that move values of an earlier version. They must be made together. */
  readonly moves: readonly StoredValue[]
}

/** Part of the names of stored values. The prefix of one listener is never a prefix of another's. */
export function toNamePrefix({ type, listener: { kind, name } }: Named): string {
  return `gateway-2/${type}/${kind}/${name}/`
}

function toEarlierNamePrefix({ type, listener: { name } }: Named): string {
  return `gateway/${type}/${name}/`
}

/** Reads the values of a listener that belong to this shard. `plan`: all listeners of gateways. */
export async function readValues(
  assignment: Named,
  {
    place,
    plan,
    read,
  }: {
    readonly place: ShardPlace
    readonly plan: readonly Named[]
    readonly read: (prefix: string) => AsyncIterable<{ readonly name: string; readonly value: string }>
  },
): Promise<StoredValues> {
  const prefix = toNamePrefix(assignment)
  const own = await readValuesBelow(prefix, read, place)
  const earlierPrefix = toEarlierNamePrefix(assignment)
  const earlier = await readValuesBelow(earlierPrefix, read, place)
  const kinds = findListenerKinds(earlier)
  const { type, listener } = assignment
  const isOnlyOne = !plan.some(
    (one) => one.type === type && one.listener.name === listener.name && one.listener.kind !== listener.kind,
  )
  const moves: StoredValue[] = []
  for (const [name, value] of earlier) {
    const kind = kinds.get(toOwnerPart(name))
    // Topic IDs of a client that does not sleep have no kind. A device over DTLS registers its topics again.
    const isOwn = kind === undefined ? isOnlyOne || listener.kind === 'udp' : kind === listener.kind
    if (!isOwn) continue
    moves.push({ name: `${earlierPrefix}${name}`, value: undefined })
    if (own.has(name)) continue
    moves.push({ name: `${prefix}${name}`, value })
    own.set(name, value)
  }
  return { own, moves }
}

async function readValuesBelow(
  prefix: string,
  read: (prefix: string) => AsyncIterable<{ readonly name: string; readonly value: string }>,
  place: ShardPlace,
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for await (const { name, value } of read(prefix)) {
    const own = name.slice(prefix.length)
    // A part of the name determines the owner shard: see `shard-place.ts`.
    if (findOwnerShard(toOwnerPart(own), place) === place.own) found.set(own, value)
  }
  return found
}

function toOwnerPart(name: string): string {
  const [owner = ''] = name.split(separator, 1)
  return owner
}

/** Returns the kind of listener of each device whose address is stored. */
function findListenerKinds(values: ReadonlyMap<string, string>): ReadonlyMap<string, 'udp' | 'dtls'> {
  const kinds = new Map<string, 'udp' | 'dtls'>()
  for (const [name, value] of values) {
    const [owner = '', mark] = name.split(separator)
    // Other values are topics and messages of the client, with any text.
    if (mark !== undefined && mark !== sleepMark) continue
    const { peer } = JSON.parse(value) as { readonly peer: { readonly secure?: object } }
    kinds.set(owner, peer.secure === undefined ? 'udp' : 'dtls')
  }
  return kinds
}
