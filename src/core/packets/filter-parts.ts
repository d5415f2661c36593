// A SUBSCRIBE or UNSUBSCRIBE with many filters is handled in parts, one per turn, so that other clients of the shard do not wait for all of
// it. Meanwhile reading from the client pauses, and its later packets wait. One SUBACK or UNSUBACK answers all filters at the end.
//
//   SUBSCRIBE (3,000 filters) ─► 1,024 ─(turn)─► 1,024 ─(turn)─► 952 ─► SUBACK (3,000 reason codes)

import type { SubscribePacket, TopicFilter, UnsubscribePacket } from '../../protocol/index.ts'
import type { Connection } from '../model/connection.ts'
import { pauseReading, readPauseReasons } from '../outgoing/read-pause-reasons.ts'
import type { FilterParts, Open } from '../state/connection-state.ts'
import type { Parts } from '../state/parts.ts'

/** Maximum number of filters that are handled in one step, which takes about ten microseconds for each of them. */
export const maxFiltersPerPart = 1_024

type FilterPacket = SubscribePacket | UnsubscribePacket

/** The packet has more filters than one part. Returns its first part. */
export function startParts<P extends FilterPacket>(open: Open, packet: P): P {
  open.filterParts = { whole: packet, end: maxFiltersPerPart, reasonCodes: [], granted: [] }
  return slicePacket(packet, 0, maxFiltersPerPart)
}

/** Adds the result of a part. Returns true if it was the last one; otherwise the next part waits for the next turn. */
export function finishPart(
  state: Parts<'outputs' | 'waiting'>,
  connection: Connection,
  open: Open,
  result: { readonly reasonCodes: readonly number[]; readonly granted: readonly TopicFilter[] },
): FilterParts | undefined {
  const parts = open.filterParts
  if (parts === undefined) return undefined
  parts.reasonCodes.push(...result.reasonCodes)
  parts.granted.push(...result.granted)
  const { whole, end } = parts
  if (end >= countFilters(whole)) {
    open.filterParts = undefined
    return parts
  }
  parts.end = end + maxFiltersPerPart
  open.parked ??= []
  open.parked.unshift(slicePacket(whole, end, parts.end))
  state.waiting.forTurn.add(connection)
  pauseReading(state.outputs, connection, readPauseReasons.turn)
  return undefined
}

function countFilters(packet: FilterPacket): number {
  return packet.type === 'subscribe' ? packet.subscriptions.length : packet.filters.length
}

function slicePacket<P extends FilterPacket>(packet: P, start: number, end: number): P {
  return packet.type === 'subscribe'
    ? { ...packet, subscriptions: packet.subscriptions.slice(start, end) }
    : { ...packet, filters: packet.filters.slice(start, end) }
}
