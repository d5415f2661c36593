// What comes from the other shards of the node: see peer-messages.ts for the play.

import { assert } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import type { Input } from '../inputs.ts'

type PeerInput = Extract<Input, { kind: 'peer-joined' | 'peer-left' | 'peer-message' | 'peer-congested' }>

export function handlePeer(state: BrokerState, input: PeerInput): void {
  const { own, count } = state.place
  assert(input.peer !== own && input.peer < count, `shard ${input.peer} is no peer of shard ${own} of ${count}`)
}
