// Settings of the CoAP and MQTT-SN gateways for tests, which change what they need.

import { type CoapSettings, type MqttSnSettings, PredefinedTopics } from '../../src/gateways/index.ts'

/** The defaults. */
export const coapSettings: CoapSettings = {
  heartbeatMs: 30_000,
  requiresConnection: false,
  notifyType: 'qos',
  subscribeQoS: undefined,
  publishQoS: undefined,
  maxBlockBytes: 1_024,
  maxBodyBytes: 1_048_576,
  idleTimeoutMs: 30_000,
  maxClients: 100_000,
  override: { clientId: undefined, username: undefined, password: undefined },
}

/** With limits that random datagrams reach. */
export const smallCoapSettings: CoapSettings = { ...coapSettings, maxBodyBytes: 65_536, maxClients: 64 }

export const snSettings: MqttSnSettings = {
  gatewayId: 1,
  allowsQosMinusOne: true,
  speaksVersion2: false,
  resumesTopics: false,
  predefined: new PredefinedTopics([{ id: 5, topic: 'pre/defined' }]),
  retryIntervalMs: 10_000,
  maxRetries: 3,
  idleTimeoutMs: 30_000,
  maxClients: 16,
  override: { clientId: undefined, username: undefined, password: undefined },
}
