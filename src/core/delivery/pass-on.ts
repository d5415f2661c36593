// A message of a shared subscription goes on to a member on another shard: because its member here has gone, or because
// none is left here, which the shard that sent it could not know yet.

import { reasonCodes, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import type { Message } from '../message.ts'
import type { Neighbours } from '../neighbours/neighbours.ts'
import type { PeerNumber, PeerPublish } from '../peer-messages.ts'
import type { SharedGroup } from '../topics/index.ts'
import { Vow } from '../vow.ts'
import { chooseShard } from './deal.ts'
import { keepAndSend, sendNumbered } from './send-to-peer.ts'

export interface PassingOn {
  readonly message: Message
  readonly group: { readonly name: string; readonly filter: TopicFilter }
  /** Shards that have tried already. */
  readonly tried: readonly PeerNumber[]
  /** A stored member whose client is not there will do. */
  readonly mayBeStored: boolean
  /** It is known here when it has arrived. */
  readonly isAwaited: boolean
}

/**
 * False: there is nobody. `kept`: once the other shard has it, where that is awaited; with a refusal where nobody there, nor on
 * the shards that it went on to, may have it.
 */
export function passOn(
  state: BrokerState,
  neighbours: Neighbours,
  { message, group, tried, mayBeStored, isAwaited }: PassingOn,
): { kept: Vow | undefined } | false {
  const elsewhere = state.routes.groupElsewhere(group.name, group.filter)
  if (elsewhere === undefined) return false
  const filter = filterOf(group)
  const turn = elsewhere.nextTurn()
  const chosen = chooseShard(neighbours, {
    filter,
    elsewhere,
    turn,
    mayBeHere: false,
    except: new Set(tried),
    mayBeStored,
    isLasting: false,
  })
  if (chosen === undefined || chosen === 'here') return false
  const send: PeerPublish = {
    kind: 'publish',
    message,
    isForSubscribers: false,
    isToBeRetained: false,
    groups: [filter],
    tried: [...tried, neighbours.place.own],
    isAwaited,
    exactlyOnce: undefined,
  }
  if (!isAwaited) {
    if (chosen.link !== undefined) sendNumbered(state, chosen, chosen.link, send)
    return { kept: undefined }
  }
  const kept = new Vow()
  const isTaken = keepAndSend(state, chosen, send, kept)
  kept.mark(isTaken ? undefined : reasonCodes.quotaExceeded)
  return { kept }
}

function filterOf({ name, filter }: Pick<SharedGroup<object>, 'name' | 'filter'>): TopicFilter {
  return `$share/${name}/${filter}` as TopicFilter
}
