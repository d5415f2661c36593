// A healthy client: it sends itself a message every few milliseconds and records the delay of each.

import { publishFrame } from './frames.ts'
import { Latencies } from './latencies.ts'
import type { LoadClient } from './load-client.ts'
import { openSubscriber } from './open-client.ts'
import { number } from './table.ts'

const intervalMs = 5

export class HealthyProbe {
  readonly #latencies: Latencies
  readonly #client: LoadClient
  readonly #timer: NodeJS.Timeout
  #sent: number
  #received: number

  private constructor(client: LoadClient, latencies: Latencies) {
    this.#client = client
    this.#latencies = latencies
    this.#sent = 0
    this.#received = 0
    this.#timer = setInterval(() => this.#send(), intervalMs)
  }

  static async open(port: number): Promise<HealthyProbe> {
    const latencies = new Latencies()
    const client = await openSubscriber(
      { port, clientId: 'healthy-probe', filters: ['healthy/probe'], qos: 0 },
      {
        look: (_, bytes, payloadStart) => {
          probe.#received++
          latencies.add(performance.now() - bytes.readDoubleLE(payloadStart))
        },
        failed: (_, reason) => {
          throw new Error(`the healthy client was not served: ${reason}`)
        },
      },
    )
    const probe = new HealthyProbe(client, latencies)
    return probe
  }

  /** Median, 99th percentile and longest delay since the last call, in ms, as text; and the number of missing messages. */
  take(): string[] {
    const row = [this.#latencies.percentileMs(0.5), this.#latencies.percentileMs(0.99), this.#latencies.maxMs]
    const missing = this.#sent - this.#received
    this.#latencies.clear()
    return [...row.map((delay) => number(delay, 2)), number(missing)]
  }

  close(): void {
    clearInterval(this.#timer)
    this.#client.close()
  }

  #send(): void {
    const stamp = Buffer.alloc(8)
    stamp.writeDoubleLE(performance.now())
    this.#sent++
    this.#client.write(publishFrame({ version: 4, topic: 'healthy/probe', qos: 0, packetId: 0, payload: stamp }))
  }
}
