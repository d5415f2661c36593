// The door of the room: messages to and from other MQTT brokers.

export { Bridge } from './bridge.ts'
export type { ClientWishes } from './passed-on.ts'
export { joinedStreams } from './joined-streams.ts'
export { bridgeSettings, connectTimeoutOf, type BridgeFacts, type BridgeSettings } from './settings.ts'
export type { BridgeCounters, BridgeDrop, BridgeEvent, BridgeState, BridgeStatus } from './status.ts'
export type {
  BridgeConnector,
  BridgeWorld,
  DialHandlers,
  Dialing,
  LocalBroker,
  LocalStanding,
  LocalSubscription,
} from './world.ts'
