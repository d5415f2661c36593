// The exclusive filters of the node, as far as they concern this shard: the part of the registry that it owns, and what waits for the owners
// of other parts.
//
//   SUBSCRIBE, command of the API ──request──► shard of the filter: registry ──response──► granted or refused

import type { QoS, SubscribePacket, TopicFilter } from '../../../protocol/index.ts'
import type { Connection } from '../../model/connection.ts'
import type { RequestId, SubscribeCommandOptions } from '../../model/inputs.ts'
import type { PeerExclusive } from '../../model/peer-messages.ts'
import { ExclusiveRegistry } from './exclusive-registry.ts'
import type { Peer } from './peer.ts'

/** A SUBSCRIBE that waits for responses of other shards about its exclusive filters. */
export interface ExclusiveWait {
  readonly packet: SubscribePacket
  readonly clientId: string
  /** Pending requests, by ID. */
  readonly missing: Map<number, TopicFilter>
  readonly given: Set<TopicFilter>
  readonly refused: Set<TopicFilter>
}

/** A `subscribe` command of the API that waits for the response of another shard about its exclusive filter. */
export interface ExclusiveCommand {
  readonly requestId: RequestId
  readonly clientId: string
  readonly mounted: TopicFilter
  /** Without `$exclusive/`, as in the registry. */
  readonly exclusive: TopicFilter
  readonly qos: QoS
  readonly options: SubscribeCommandOptions | undefined
}

export class ExclusiveFilters {
  /** The part of the registry that this shard owns. */
  readonly registry = new ExclusiveRegistry()
  /** Packets that requested filters, by connection. */
  readonly waits = new Map<Connection, ExclusiveWait>()
  /** The connections of their pending requests, by ID. */
  readonly requests = new Map<number, Connection>()
  /** Commands of the API, by ID of their request. */
  readonly commands = new Map<number, ExclusiveCommand>()
  /** Requests received before the peers announced their filters. */
  deferred: { readonly peer: Peer; readonly message: PeerExclusive }[] = []
}
