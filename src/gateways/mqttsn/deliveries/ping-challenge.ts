// Asks a client to prove its address by PINGREQ, which each client answers [MQTT-SN 1.2 6.11]: also one that ignores REGISTER and uses QoS 0 only.
// PINGRESP repeats nothing of PINGREQ, so the time is the secret:
//
//   slot   1  2  3  4  5  6  7 ... 16      8 of 16 slots begin with PINGREQ, at random
//   sent   -  P  P  -  P  -  -     P
//   got    -  R  R  -  R  -  -     R       PINGRESP in exactly these slots
//
// A sender of forged datagrams does not see the PINGREQ packets. It guesses one of 12,870 sequences, at most once in a pause.

import type { SnClientDependencies } from '../model/sn-client-dependencies.ts'

const slotCount = 16
const pingCount = 8
/** Longer than the round trip of most networks. Doubled after each failure, for the others. */
const firstSlotMs = 2_000
const maxSlotMs = 16_000
/** From a failure to the next challenge. */
const pauseMs = 60_000

type Gateway = Pick<
  SnClientDependencies,
  'codec' | 'nowMs' | 'randomBelow' | 'reserveUnasked' | 'releaseUnasked' | 'sendReserved'
>

export class PingChallenge {
  readonly #gateway: Gateway
  #slotMs = firstSlotMs
  #notBeforeMs = -Infinity
  #slots = 0
  #pings = 0
  #isAwaiting = false
  /** End of the current slot. Infinity: no challenge is running. */
  #dueAtMs = Infinity

  constructor(gateway: Gateway) {
    this.#gateway = gateway
  }

  get dueAtMs(): number {
    return this.#dueAtMs
  }

  /**
   * Begins unless one is running or has just failed. `unaffordable`: the client must send more before its address may get the packets, so nothing
   * else may use up what they need.
   */
  begin(): 'running' | 'unsupported' | 'failed' | 'unaffordable' {
    const nowMs = this.#gateway.nowMs()
    if (this.#dueAtMs !== Infinity) return 'running'
    if (this.#gateway.codec.pingreq() === undefined) return 'unsupported'
    if (!this.#gateway.reserveUnasked(pingCount)) return 'unaffordable'
    if (nowMs < this.#notBeforeMs) {
      this.#gateway.releaseUnasked(pingCount)
      return 'failed'
    }
    this.#slots = slotCount
    this.#pings = pingCount
    this.#isAwaiting = false
    // The first slot is not counted: most clients prove their address within this time by REGACK.
    this.#dueAtMs = nowMs + this.#slotMs
    return 'running'
  }

  end(): void {
    this.#dueAtMs = Infinity
    this.#gateway.releaseUnasked(this.#pings)
    this.#pings = 0
  }

  handlePingresp(): void {
    if (this.#dueAtMs === Infinity) return
    if (!this.#isAwaiting) return this.#fail()
    this.#isAwaiting = false
  }

  /** Returns true if the address is proven now. */
  tick(): boolean {
    if (this.#gateway.nowMs() < this.#dueAtMs) return false
    if (this.#isAwaiting) {
      this.#fail()
      return false
    }
    if (this.#slots > 0) {
      this.#beginSlot()
      return false
    }
    this.end()
    return true
  }

  #beginSlot(): void {
    const pingreq = this.#gateway.codec.pingreq()
    this.#isAwaiting = pingreq !== undefined && this.#gateway.randomBelow(this.#slots) < this.#pings
    this.#slots--
    this.#dueAtMs = this.#gateway.nowMs() + this.#slotMs
    if (!this.#isAwaiting || pingreq === undefined) return
    this.#pings--
    this.#gateway.sendReserved(pingreq)
  }

  #fail(): void {
    this.end()
    this.#slotMs = Math.min(this.#slotMs * 2, maxSlotMs)
    this.#notBeforeMs = this.#gateway.nowMs() + pauseMs
  }
}
