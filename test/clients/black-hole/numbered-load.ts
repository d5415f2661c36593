// Publishes numbers with QoS 1 at a given rate over several clients, and records which were acknowledged. A number whose connection
// ends is not published again, so duplicates come from the broker.

import mqtt from 'mqtt'

const tickMs = 20
const maxUnacknowledged = 500

export class NumberedLoad {
  /** The time at which each number was published. */
  readonly publishedAtMs: number[] = []
  readonly acknowledged = new Set<number>()
  readonly #port: number
  readonly #perTick: number
  #clients: mqtt.MqttClient[] = []
  #timer: NodeJS.Timeout | undefined
  #unacknowledged = 0

  constructor(port: number, perSecond: number) {
    this.#port = port
    this.#perTick = Math.max(1, Math.round((perSecond * tickMs) / 1_000))
  }

  /** Resolves when the clients are connected. Can be called again after the broker was killed. */
  async start(clients: number): Promise<void> {
    this.#unacknowledged = 0
    this.#clients = Array.from({ length: clients }, () => {
      const client = mqtt.connect(`mqtt://127.0.0.1:${this.#port}`, { reconnectPeriod: 0, clean: true })
      client.on('error', () => {})
      return client
    })
    await Promise.all(
      this.#clients.map((client) => new Promise<void>((resolve) => client.once('connect', () => resolve()))),
    )
    this.#timer = setInterval(() => this.#publish(), tickMs)
  }

  /** Disconnects without waiting for acknowledgements. */
  stop(): void {
    clearInterval(this.#timer)
    for (const client of this.#clients) client.end(true)
    this.#clients = []
  }

  /** Resolves when all published numbers are acknowledged. */
  async finish(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#clients.map((client) => client.endAsync()))
  }

  #publish(): void {
    for (let count = 0; count < this.#perTick && this.#unacknowledged < maxUnacknowledged; count++) {
      const number = this.publishedAtMs.length
      const client = this.#clients[number % this.#clients.length]
      this.publishedAtMs.push(Date.now())
      this.#unacknowledged++
      client.publish(`hidden/${number % 7}`, String(number), { qos: 1 }, (error) => {
        this.#unacknowledged--
        // PUBACK of MQTT 3.1.1 has no reason code, so the callback gets no error for a refused message.
        if (error === undefined || error === null) this.acknowledged.add(number)
      })
    }
  }
}
