// A message of a shared subscription goes on to a member on another shard: because its member here has gone, or because
// none is left here, which the shard that sent it could not know yet.

import { reasonCodes, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Message } from '../model/message.ts'
import type { Neighbours } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import { plainPublish, type PeerNumber, type PeerPublish } from '../model/peer-messages.ts'
import { Vow } from '../model/commit-barrier.ts'
import { chooseShard } from '../peers/choose-shard.ts'
import { keepAndSend, sendInTurn, sendNumbered } from '../peers/send-to-peer.ts'

/** One that has no member here, or none that may have it. */
interface Homeless {
  readonly group: { readonly name: string; readonly filter: TopicFilter }
  /** Shards that have tried already. */
  readonly tried: readonly PeerNumber[]
  /** A stored member whose client is not there will do. */
  readonly mayBeStored: boolean
}

/** The shard whose turn it is; undefined: there is nobody. */
export function chooseElsewhere(
  state: BrokerState,
  neighbours: Neighbours,
  { group, tried, mayBeStored }: Homeless,
): Peer | undefined {
  const elsewhere = state.routes.groupElsewhere(group.name, group.filter)
  if (elsewhere === undefined) return undefined
  const chosen = chooseShard(neighbours, {
    filter: elsewhere.sharedFilter,
    elsewhere,
    turn: elsewhere.nextTurn(),
    mayBeHere: false,
    except: new Set(tried),
    mayBeStored,
  })
  return chosen === 'here' ? undefined : chosen
}

export interface Passed {
  readonly message: Message
  /** `$share/name/filter`. */
  readonly filter: TopicFilter
  readonly tried: readonly PeerNumber[]
}

/**
 * It goes to a member there, or on from there. The vow is kept once the other shard has it, with a refusal where nobody there,
 * nor on the shards that it went on to, may have it. Undefined: nobody waits for that.
 */
export function passTo(
  state: BrokerState,
  neighbours: Neighbours,
  to: Peer,
  { isAwaited, ...passed }: Passed & { readonly isAwaited: boolean },
): Vow | undefined {
  const send = { ...toGroup(neighbours, passed), isAwaited }
  if (isAwaited) {
    const kept = new Vow()
    leave(state, to, send, kept)
    return kept
  }
  if (to.link !== undefined) sendNumbered(state, to, to.link, send)
  return undefined
}

/**
 * The same of QoS 2 that must not come twice. `isDecided`: the disk here has it already that it goes to this shard; else it
 * leaves when the batch that gathers is there.
 */
export function passOnce(
  state: BrokerState,
  neighbours: Neighbours,
  to: Peer,
  once: Passed & Pick<PeerPublish, 'exactlyOnce'> & { readonly isDecided: boolean },
): Vow {
  const { message, exactlyOnce, isDecided } = once
  const send = { ...toGroup(neighbours, once), isAwaited: true, exactlyOnce }
  const kept = new Vow()
  sendInTurn(state, to, { message, isDecided }, () => leave(state, to, send, kept))
  return kept
}

function leave(state: BrokerState, to: Peer, send: PeerPublish, kept: Vow): void {
  const isTaken = keepAndSend(state, to, send, kept)
  kept.mark(isTaken ? undefined : reasonCodes.quotaExceeded)
}

function toGroup({ place }: Neighbours, { message, filter, tried }: Passed): PeerPublish {
  return { ...plainPublish(message), isForSubscribers: false, groups: [filter], tried: [...tried, place.own] }
}
