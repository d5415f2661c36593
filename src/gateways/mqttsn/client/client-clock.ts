// Deadlines of one MQTT-SN client: when it is lost without another packet, and when the broker needs a packet for the keep alive.

import { computeLostAfterMs } from './connect-packet.ts'
import { toPingIntervalMs } from '../../ping-interval.ts'

export class ClientClock {
  lostAtMs = Infinity
  nextPingAtMs = Infinity
  /** Keep alive of the connection to the broker, independent of the duration of a sleep. */
  keepAliveSeconds = 0
  readonly #version: 1 | 2

  constructor(version: 1 | 2) {
    this.#version = version
  }

  get dueAtMs(): number {
    return Math.min(this.lostAtMs, this.nextPingAtMs)
  }

  /** The client has sent a packet. */
  expectPacketWithin(durationSeconds: number, nowMs: number): void {
    this.lostAtMs = nowMs + computeLostAfterMs(durationSeconds, this.#version)
  }

  /** The broker monitors the keep alive of its side, too. */
  planPing(nowMs: number): void {
    this.nextPingAtMs = nowMs + toPingIntervalMs(this.keepAliveSeconds)
  }

  stop(): void {
    this.lostAtMs = Infinity
    this.nextPingAtMs = Infinity
  }
}
