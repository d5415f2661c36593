// Creates the protocols of gateways from their settings.

import {
  CoapGateway,
  type DatagramGateway,
  type GatewayDependencies,
  Lwm2mGateway,
  MqttSnGateway,
  StompGateway,
  type StreamGateway,
  toCoapSettings,
  toLwm2mSettings,
  toMqttSnSettings,
  toStompSettings,
} from '../../gateways/index.ts'
import type { GatewayAssignment } from '../messages/gateway-plan.ts'

/** Creates the protocol of a gateway, without sockets, from its settings. */
export function createProtocol(
  assignment: GatewayAssignment,
  dependencies: GatewayDependencies,
): DatagramGateway | StreamGateway {
  const { type, mqttsn, coap, lwm2m, stomp, maxClients } = assignment
  if (type === 'mqttsn' && mqttsn !== undefined)
    return new MqttSnGateway(toMqttSnSettings(mqttsn, maxClients), dependencies)
  if (type === 'coap' && coap !== undefined) return new CoapGateway(toCoapSettings(coap, maxClients), dependencies)
  if (type === 'lwm2m' && lwm2m !== undefined) return new Lwm2mGateway(toLwm2mSettings(lwm2m, assignment), dependencies)
  if (type === 'stomp' && stomp !== undefined) return new StompGateway(toStompSettings(stomp), dependencies)
  throw new TypeError(`the gateway ${type} has no settings`)
}
