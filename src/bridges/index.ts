// Entry point of the module bridges: messages to and from remote brokers.

export { Bridge } from './bridge.ts'
export type { ClientFilters } from './transparent-subscriptions.ts'
export { type LinkCallbacks, type LinkOptions, PacketLink } from './packet-link.ts'
export { createStreamPair } from './stream-pair.ts'
export { bridgeSettings, connectTimeoutOf, type BridgeFacts, type BridgeSettings } from './settings.ts'
export type { BridgeCounters, BridgeDrop, BridgeEvent, BridgeState, BridgeStatus } from './status.ts'
export type {
  BridgeConnector,
  BridgeDependencies,
  DialHandlers,
  Dialing,
  LocalBroker,
  LocalSessionStatus,
  LocalSubscription,
} from './bridge-dependencies.ts'
