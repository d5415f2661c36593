// What lists of clients show of an MQTT-SN client beyond its session.

import type { GatewayClient } from '../../core/index.ts'
import type { SnClientState } from './sn-client-dependencies.ts'

/** Read when a list is made: the client changes. */
export class ShownClient implements GatewayClient {
  readonly #state: () => SnClientState
  readonly protocolVersion: 1 | 2

  constructor(version: 1 | 2, state: () => SnClientState) {
    this.protocolVersion = version
    this.#state = state
  }

  get isSleeping(): boolean {
    return this.#state() === 'asleep' || this.#state() === 'awake'
  }
}
