// Finds sessions of bridges that were removed from the configuration while the broker was stopped. Without a bridge,
// their queues would never be emptied.

import type { BridgeSettings } from '../../bridges/index.ts'
import {
  parseActionClientId,
  toBridgeClientId,
  parseSourceBridgeName,
  type BrokerView,
  type WalkPosition,
} from '../../core/index.ts'
import { createSliceWanted } from '../runtime/result-slices.ts'

/** Returns the names of bridges that have a session on this shard. Searches in slices, between turns. */
export async function listBridgesWithSession(view: BrokerView): Promise<readonly string[]> {
  const prefix = toBridgeClientId('')
  const clientIds = await listClientIdsWithPrefix(view, prefix)
  return clientIds
    .filter((id) => parseActionClientId(id) === undefined)
    .map((id) => id.slice(prefix.length))
    .filter((name) => parseSourceBridgeName(name)?.startsWith('mqtt:') !== false)
}

/** Returns the client IDs of this shard with this prefix. Searches in slices, between turns. */
export async function listClientIdsWithPrefix(view: BrokerView, prefix: string): Promise<readonly string[]> {
  const clientIds: string[] = []
  for (let from: WalkPosition | undefined = { place: 0, offset: 0 }; from !== undefined;) {
    const filter = { clientIdPart: prefix.toLowerCase() }
    const slice = view.listClients(filter, createSliceWanted({ from, skip: 0, maxRows: Infinity }))
    for (const { clientId } of slice.rows) {
      if (clientId.startsWith(prefix)) clientIds.push(clientId)
    }
    from = slice.next
    await new Promise((resolve) => setImmediate(resolve))
  }
  return clientIds
}

/** Returns settings for a removed bridge, which only ends its session. */
export function createRemovedBridgeSettings(name: string): BridgeSettings {
  return {
    name,
    isEnabled: false,
    servers: [''],
    version: 5,
    clientId: '',
    username: undefined,
    password: undefined,
    keepAliveSeconds: 0,
    cleanStart: true,
    retriesQoS0: false,
    maxInFlight: undefined,
    maxUnacknowledged: undefined,
    spool: { maxMessages: undefined, dropsNewest: false, dropsOldest: false },
    isTransparent: false,
    maxQoS: 2,
    maxFiltersPerPacket: 1,
    connectPauseMs: 0,
    ackTimeout: undefined,
    sessionExpirySeconds: 0,
    receiveMaximum: 1,
    maximumPacketBytes: undefined,
    topicAliasMaximum: 0,
    requestProblemInformation: false,
    requestResponseInformation: false,
    connectUserProperties: [],
    will: undefined,
    subscriptionIdentifier: undefined,
    subscribeUserProperties: [],
    unsubscribeUserProperties: [],
    forwards: [],
    subscriptions: [],
    backoffMaxMs: 0,
    connectTimeoutMs: 0,
    noLocalBefore5: false,
    brokerId: '',
    link: {},
  }
}
