// Settings of the CoAP gateway for tests; each names what it needs otherwise.

import type { CoapSettings } from '../../src/gateways/index.ts'

/** Those of the defaults. */
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
