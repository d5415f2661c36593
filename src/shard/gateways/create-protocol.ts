// Creates the protocols of gateways from their settings.

import {
  CoapGateway,
  type DatagramGateway,
  type GatewayDependencies,
  Lwm2mGateway,
  type Lwm2mSettings,
  MqttSnGateway,
  ObjectDefinitions,
  PredefinedTopics,
  StompGateway,
  type StompSettings,
  type StreamGateway,
} from '../../gateways/index.ts'
import type { QoS } from '../../protocol/index.ts'
import type { GatewayAssignment } from '../messages/gateway-plan.ts'

const msPerSecond = 1_000

/** Creates the protocol of a gateway, without sockets, from its settings. */
export function createProtocol(
  assignment: GatewayAssignment,
  dependencies: GatewayDependencies,
): DatagramGateway | StreamGateway {
  const { type, mqttsn, coap, lwm2m, stomp, maxClients } = assignment
  if (type === 'mqttsn' && mqttsn !== undefined) return createMqttSnGateway(mqttsn, maxClients, dependencies)
  if (type === 'coap' && coap !== undefined) return createCoapGateway(coap, maxClients, dependencies)
  if (type === 'lwm2m' && lwm2m !== undefined) return new Lwm2mGateway(toLwm2mSettings(lwm2m, assignment), dependencies)
  if (type === 'stomp' && stomp !== undefined) return new StompGateway(toStompSettings(stomp), dependencies)
  throw new TypeError(`the gateway ${type} has no settings`)
}

function createMqttSnGateway(
  mqttsn: NonNullable<GatewayAssignment['mqttsn']>,
  maxClients: number,
  dependencies: GatewayDependencies,
): MqttSnGateway {
  const predefined = mqttsn.predefined.map((fields) => ({
    id: Number(fields.get('id')),
    topic: String(fields.get('topic')),
  }))
  const settings = {
    gatewayId: mqttsn.gateway_id,
    allowsQosMinusOne: mqttsn.enable_qos3,
    speaksVersion2: mqttsn.protocol_2,
    resumesTopics: mqttsn.subs_resume,
    predefined: new PredefinedTopics(predefined),
    retryIntervalMs: mqttsn.retry_interval,
    maxRetries: mqttsn.max_retries,
    idleTimeoutMs: mqttsn.idle_timeout,
    maxClients,
    override: toOverride(mqttsn.clientinfo_override),
  }
  return new MqttSnGateway(settings, dependencies)
}

const qosOfNames = { coap: undefined, qos0: 0, qos1: 1, qos2: 2 } as const

function createCoapGateway(
  coap: NonNullable<GatewayAssignment['coap']>,
  maxClients: number,
  dependencies: GatewayDependencies,
): CoapGateway {
  const settings = {
    heartbeatMs: coap.heartbeat,
    requiresConnection: coap.connection_required,
    notifyType: coap.notify_type,
    subscribeQoS: qosOfNames[coap.subscribe_qos],
    publishQoS: qosOfNames[coap.publish_qos],
    maxBlockBytes: Number(coap.max_block_size),
    maxBodyBytes: coap.max_body,
    idleTimeoutMs: coap.idle_timeout,
    maxClients,
    override: toOverride(coap.clientinfo_override),
  }
  return new CoapGateway(settings, dependencies)
}

function toLwm2mSettings(
  lwm2m: NonNullable<GatewayAssignment['lwm2m']>,
  { maxClients, objects }: GatewayAssignment,
): Lwm2mSettings {
  const translatorOf = ({ topic, qos }: (typeof lwm2m.translators)['command']) => ({ topic, qos: qos as QoS })
  const { command, response, notify, register, update } = lwm2m.translators
  return {
    lifetimeMinSeconds: Math.ceil(lwm2m.lifetime_min / msPerSecond),
    lifetimeMaxSeconds: Math.floor(lwm2m.lifetime_max / msPerSecond),
    queueModeWindowMs: lwm2m.qmode_time_window,
    observesAll: lwm2m.auto_observe,
    publishesAllUpdates: lwm2m.update_msg_publish_condition === 'always',
    mountpoint: lwm2m.mountpoint,
    translators: {
      command: translatorOf(command),
      response: translatorOf(response),
      notify: translatorOf(notify),
      register: translatorOf(register),
      update: translatorOf(update),
    },
    objects: new ObjectDefinitions(objects),
    maxClients,
    override: toOverride(lwm2m.clientinfo_override),
  }
}

function toStompSettings(stomp: NonNullable<GatewayAssignment['stomp']>): StompSettings {
  const { max_headers: maxHeaders, max_headers_length: maxHeaderBytes, max_body_length: maxBodyBytes } = stomp.frame
  const override = toOverride(stomp.clientinfo_override)
  return { maxHeaders, maxHeaderBytes, maxBodyBytes, idleTimeoutMs: stomp.idle_timeout, override }
}

function toOverride({ username, password, clientid }: NonNullable<GatewayAssignment['mqttsn']>['clientinfo_override']) {
  return { username, password, clientId: clientid }
}
