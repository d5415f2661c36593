// Recent message rates of a bridge.

interface Counted {
  readonly sent: number
  readonly received: number
}

interface Sample extends Counted {
  readonly atMs: number
}

/** Number of samples; the rate is that between the oldest and the newest. */
const maxSamples = 11
const msPerSecond = 1_000

export class BridgeRates {
  readonly #samples: Sample[] = []

  recordCounts({ sent, received }: Counted, atMs: number): void {
    this.#samples.push({ sent, received, atMs })
    if (this.#samples.length > maxSamples) this.#samples.shift()
  }

  /** Messages per second, rounded to one decimal. */
  read(): { readonly sentRate: number; readonly receivedRate: number } {
    const [first] = this.#samples
    const last = this.#samples.at(-1)
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return { sentRate: 0, receivedRate: 0 }
    const seconds = (last.atMs - first.atMs) / msPerSecond
    return {
      sentRate: toTenth((last.sent - first.sent) / seconds),
      receivedRate: toTenth((last.received - first.received) / seconds),
    }
  }
}

function toTenth(rate: number): number {
  return Math.round(rate * 10) / 10
}
