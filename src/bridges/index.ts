// Entry point of the module bridges: messages to and from remote brokers.

export { Bridge } from './bridge.ts'
export type { ClientFilters } from './subscriptions/transparent-subscriptions.ts'
export { toBridgeSettings, toConnectTimeoutMs, type BridgeFacts, type BridgeSettings } from './model/bridge-settings.ts'
export type { BridgeCounters, BridgeDrop, BridgeEvent, BridgeState, BridgeStatus } from './model/status.ts'
export type {
  BridgeConnector,
  BridgeDependencies,
  DialHandlers,
  Dialing,
  LocalBroker,
  LocalSessionStatus,
  LocalSubscription,
} from './model/bridge-dependencies.ts'
