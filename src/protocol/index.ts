// The door of the wire: MQTT 3.1, 3.1.1 and 5.0 as bytes and as values, for both ends of a connection.

export { assert } from './assert.ts'
export * from './packets.ts'
export * from './properties.ts'
export * from './reason-codes.ts'
export * from './protocol-error.ts'
export { Topic, TopicTable, type TopicRoute } from './topic-table.ts'
export * from './topic-names.ts'
export { PacketDecoder, type PacketDecoderOptions } from './packet-decoder.ts'
export type { PacketLimits } from './packet-limits.ts'
export type { Role } from './packet-types.ts'
export { measurePacket, writeAck, writePacket } from './write-packet.ts'
export { measurePublish, writePublish, type PublishFields } from './write-publish.ts'
