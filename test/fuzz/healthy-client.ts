// A correct client among incorrect ones: it publishes to itself at QoS 1 repeatedly, and each message
// must return in time.

import { connectAsync, type MqttClient } from 'mqtt'

const roundTripLimitMs = 10_000

export class HealthyClient {
  readonly served: { roundTrips: number; maxRoundTripMs: number }
  readonly #client: MqttClient
  readonly #topic: string
  #isEnding: boolean
  #failure: Error | undefined
  #afterNext: (() => void)[]

  private constructor(client: MqttClient, topic: string) {
    this.#client = client
    this.#topic = topic
    this.served = { roundTrips: 0, maxRoundTripMs: 0 }
    this.#isEnding = false
    this.#failure = undefined
    this.#afterNext = []
    client.on('close', () => this.#fail(new Error('the healthy client was disconnected')))
    void this.#run()
  }

  static async connect(port: number, topic = 'healthy/itself'): Promise<HealthyClient> {
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, {
      clientId: 'healthy',
      reconnectPeriod: 0,
      keepalive: 5,
    })
    await client.subscribeAsync(topic, { qos: 1 })
    return new HealthyClient(client, topic)
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Resolves when a message has returned, or the client has failed. */
  async nextRoundTrip(): Promise<void> {
    await new Promise<void>((resolve) => this.#afterNext.push(resolve))
    this.throwIfFailed()
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await this.#client.endAsync(true)
  }

  #fail(error: Error): void {
    if (this.#isEnding) return
    this.#failure ??= error
    for (const wake of this.#afterNext.splice(0)) wake()
  }

  async #run(): Promise<void> {
    while (!this.#isEnding && this.#failure === undefined) {
      const startedMs = performance.now()
      try {
        await this.#roundTrip(String(this.served.roundTrips))
      } catch (error) {
        return this.#fail(error as Error)
      }
      this.served.maxRoundTripMs = Math.max(this.served.maxRoundTripMs, performance.now() - startedMs)
      this.served.roundTrips++
      for (const wake of this.#afterNext.splice(0)) wake()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  #roundTrip(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => {
        clearTimeout(timer)
        this.#client.off('message', look)
        if (error === undefined) resolve()
        else reject(error)
      }
      const look = (_topic: string, payload: Buffer): void => {
        if (payload.toString() === text) settle()
      }
      const timer = setTimeout(
        () => settle(new Error(`a message of the healthy client did not come back within ${roundTripLimitMs} ms`)),
        roundTripLimitMs,
      )
      this.#client.on('message', look)
      this.#client.publish(this.#topic, text, { qos: 1 }, (error) => {
        if (error instanceof Error) settle(error)
      })
    })
  }
}
