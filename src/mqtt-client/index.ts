// Entry point of the module mqtt-client: the client side of an MQTT connection, for brokers in this process and remote ones.

export type { AckTimeout } from './ack-timeout.ts'
export { ConnectionMonitor, type ConnectionState } from './connection-monitor.ts'
export { createConnectPacket, createDisconnectPacket, createReceiveLimits } from './client-packets.ts'
export { selectShorterKeepAlive } from './keep-alive.ts'
export { ConnectionEnded, MqttClient, type OutgoingMessage, type PublishResult } from './mqtt-client.ts'
export { type ClientStream, type LinkCallbacks, type LinkOptions, PacketLink } from './packet-link.ts'
export { toRemoteLimits, selectLowerQoS, type RemoteLimits } from './remote-limits.ts'
export { createStreamPair } from './stream-pair.ts'
