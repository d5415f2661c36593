// One listener of the STOMP gateway [STOMP 1.0, 1.1 and 1.2]: SEND publishes, SUBSCRIBE subscribes to a topic filter.

import { Deadlines } from '../../core/index.ts'
import type { GatewayDependencies, GatewayStream, GatewayStreamCallbacks, StreamGateway } from '../gateway.ts'
import type { StompSettings } from './stomp-settings.ts'
import { StompClient } from './stomp-client.ts'

export class StompGateway implements StreamGateway {
  readonly #settings: StompSettings
  readonly #dependencies: GatewayDependencies
  readonly #clients = new Set<StompClient>()
  readonly #deadlines = new Deadlines<'client', StompClient>()

  constructor(settings: StompSettings, dependencies: GatewayDependencies) {
    this.#settings = settings
    this.#dependencies = dependencies
  }

  get clients(): number {
    let connected = 0
    for (const { isConnected } of this.#clients) if (isConnected) connected++
    return connected
  }

  accept(stream: GatewayStream): GatewayStreamCallbacks {
    const { counters } = this.#dependencies
    const client: StompClient = new StompClient(stream, {
      settings: this.#settings,
      counters,
      nowMs: () => this.#dependencies.nowMs(),
      openMqtt: (callbacks) => this.#dependencies.openMqtt(stream.peer, callbacks),
      schedule: () => this.#schedule(client),
      onEnded: () => {
        this.#clients.delete(client)
        this.#deadlines.cancel('client', client)
      },
    })
    this.#clients.add(client)
    this.#schedule(client)
    return client
  }

  tick(): void {
    const nowMs = this.#dependencies.nowMs()
    for (let due = this.#deadlines.takeDue(nowMs); due !== undefined; due = this.#deadlines.takeDue(nowMs)) {
      due.subject.tick()
      if (!due.subject.isEnded) this.#schedule(due.subject)
    }
    this.#updateWakeup()
  }

  close(): void {
    for (const client of this.#clients) client.close()
  }

  /** Sets or removes the deadline of a client. */
  #schedule(client: StompClient): void {
    if (client.dueAtMs === Infinity) this.#deadlines.cancel('client', client)
    else this.#deadlines.set('client', client, client.dueAtMs)
    this.#updateWakeup()
  }

  /** Schedules a tick at the earliest deadline of a client. */
  #updateWakeup(): void {
    this.#dependencies.wakeAt(this.#deadlines.findNextMs())
  }
}
