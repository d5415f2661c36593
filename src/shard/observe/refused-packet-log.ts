// Logs refused packets of accepted clients: the first at once, then one line per second while there are more. Counters count all of them.

import type { BrokerEvent } from '../../core/index.ts'
import { splitNamespacedName } from '../../core/index.ts'
import type { Log } from '../../telemetry/index.ts'

type PacketRefused = Extract<BrokerEvent, { event: 'packet-refused' }>

const lineIntervalMs = 1_000

export class RefusedPacketLog {
  readonly #log: Log
  readonly #countRefused: () => number
  #reported = 0
  #last: PacketRefused | undefined = undefined
  /** While this timer runs, nothing is logged. */
  #pause: NodeJS.Timeout | undefined = undefined

  /** `refusedSoFar`: the counter of all refused packets. */
  constructor(log: Log, refusedSoFar: () => number) {
    this.#log = log
    this.#countRefused = refusedSoFar
  }

  record(event: PacketRefused): void {
    this.#last = event
    if (this.#pause === undefined) this.#report(this.#countRefused())
  }

  #report(refused: number): void {
    const last = this.#last
    if (last === undefined) return
    this.#log.warn('packets refused', {
      count: refused - this.#reported,
      lastClientId: splitNamespacedName(last.clientId).name,
      lastPacket: last.packet,
      lastTopic: last.topic,
      lastReason: `0x${last.reason.toString(16).padStart(2, '0')}`,
      lastWhy: last.text,
      more: 'godwit ctl clients timeline CLIENT',
    })
    this.#reported = refused
    this.#pause = setTimeout(() => this.#continueAfterPause(), lineIntervalMs).unref()
  }

  #continueAfterPause(): void {
    this.#pause = undefined
    const refused = this.#countRefused()
    if (refused > this.#reported) this.#report(refused)
  }
}
