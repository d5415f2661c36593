// Entry point of the module gateways: protocols of constrained devices.

export {
  createGatewayCounters,
  type GatewayCounters,
  type GatewayDependencies,
  type DatagramGateway,
  type GatewayProtocol,
  type GatewayRequest,
  type GatewayResponse,
  type GatewayStream,
  type GatewayStreamCallbacks,
  type StreamGateway,
  type MqttConnection,
  type MqttConnectionCallbacks,
} from './gateway.ts'
export { findOwnerShard, type ShardPlace } from './shard-place.ts'
export { AddressLimits, createAddressTable, freeAddressTable } from './address-limits.ts'
export { CoapGateway } from './coap/coap-gateway.ts'
export { type CoapSettings, toCoapSettings } from './coap/coap-settings.ts'
export { MqttSnGateway } from './mqttsn/mqttsn-gateway.ts'
export { type MqttSnSettings, toMqttSnSettings } from './mqttsn/model/mqttsn-settings.ts'
export { PredefinedTopics } from './mqttsn/model/topic-ids.ts'
export { isSearch } from './mqttsn/codec/read-sn-packet.ts'
export { writeAdvertise } from './mqttsn/codec/write-sn-packet.ts'
export { Lwm2mGateway } from './lwm2m/lwm2m-gateway.ts'
export { type ObjectDefinition, parseObjectDefinition } from './lwm2m/object-definition.ts'
export { ObjectDefinitions } from './lwm2m/objects.ts'
export { type Lwm2mSettings, toLwm2mSettings } from './lwm2m/lwm2m-settings.ts'
export { StompGateway } from './stomp/stomp-gateway.ts'
export { type StompSettings, toStompSettings } from './stomp/stomp-settings.ts'
