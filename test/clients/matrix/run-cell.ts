// One cell of the fault matrix: a fault begins in a phase of an action that sends, and ends. State, reason, alarm, log and counters are
// compared with what is known, and everything that was acknowledged must arrive.

import type mqtt from 'mqtt'
import type { BrokerWithApi } from '../../management/api.ts'
import { findUnnoticed, hasAlarm, isReachedWithin, pause } from './broker-state.ts'
import { type Dependency, requestTimeoutMs } from './dependencies.ts'
import type { Begin, Fault } from './fault-proxy.ts'

export type Phase =
  | 'start'
  | 'handshake'
  | 'idle'
  | 'request'
  | 'batch'
  | 'begin'
  | 'commit'
  | 'rollback'
  | 'close'
  | 'reconnect'

export interface Cell {
  readonly fault: Fault
  readonly phase: Phase
}

interface ActionView {
  readonly status: string
  readonly status_reason: string
}

interface Metrics {
  readonly queuing: number
  readonly inflight: number
  readonly dead_letters: number
}

/** More than the connections of an action. */
const messages = 40
/** Faults that end the service for all connections, until it heals. */
const lastingFaults: readonly Fault[] = ['refuse', 'silent', 'nonsense']
/** Connections with which a fault begins on a text are other ones after a reconnect. */
const noticedMs = 20_000
const recoveredMs = 40_000

export class MatrixRun {
  readonly #broker: BrokerWithApi
  readonly #client: mqtt.MqttClient
  readonly #dependency: Dependency
  readonly #published = new Set<number>()
  #deadLetters = 0
  #log = ''
  #next = 0

  constructor(broker: BrokerWithApi, client: mqtt.MqttClient, dependency: Dependency) {
    this.#broker = broker
    this.#client = client
    this.#dependency = dependency
    broker.process.child.stdout?.on('data', (text: Buffer) => (this.#log += text.toString()))
    broker.process.child.stderr?.on('data', (text: Buffer) => (this.#log += text.toString()))
  }

  /** Returns differences from the expected behavior, as text. */
  async run({ fault, phase }: Cell): Promise<readonly string[]> {
    const { proxies, action } = this.#dependency
    const faults: string[] = []
    const expect = (isTrue: boolean, text: string): void => {
      if (!isTrue) faults.push(text)
    }
    await this.#recovers(expect, 'before the fault')
    this.#log = ''
    await this.#begin(phase, fault)
    await this.#publish(phase, fault)
    if (lastingFaults.includes(fault)) await this.#checkFailure(expect)
    else await pause(requestTimeoutMs)
    if (phase === 'close') await this.#control('stop', expect)
    else if (lastingFaults.includes(fault)) await this.#control('restart', expect)
    await proxies.heal()
    if (phase === 'close') await this.#control('start', expect)
    await this.#recovers(expect, 'after the fault')
    expect(
      proxies.open <= this.#dependency.maxConnections,
      `${proxies.open} connections are open; maximum ${this.#dependency.maxConnections}`,
    )
    await this.#control('restart', expect)
    await this.#recovers(expect, 'after a restart')
    expect(!/shard failed|shard died|uncaught/i.test(this.#log), `a shard failed: ${this.#log.slice(-1_000)}`)
    return faults.map((text) => `${action}, ${fault} at ${phase}: ${text}`)
  }

  async #begin(phase: Phase, fault: Fault): Promise<void> {
    const { proxies, phases } = this.#dependency
    const beginOf: Partial<Record<Phase, Begin>> = { handshake: 'handshake', request: /./ }
    if (phase === 'start' || phase === 'handshake') await this.#control('stop')
    if (phase === 'reconnect') {
      await proxies.begin('refuse')
      await isReachedWithin(noticedMs, async () => (await this.#view()).status !== 'connected')
      await proxies.heal()
    }
    if (phase !== 'batch') await proxies.begin(fault, phases[phase] ?? beginOf[phase] ?? 'now')
    if (phase === 'start' || phase === 'handshake') await this.#control('start')
  }

  async #publish(phase: Phase, fault: Fault): Promise<void> {
    if (phase === 'batch') {
      await this.#publishSome(messages >> 1)
      await this.#dependency.proxies.begin(fault)
    }
    const refused = phase === 'rollback' ? this.#publishRefused() : undefined
    await this.#publishSome(phase === 'batch' ? messages >> 1 : messages)
    await refused
  }

  /** At the same time, so that they are sent in batches. */
  async #publishSome(count: number): Promise<void> {
    const numbers = Array.from({ length: count }, () => this.#next++)
    for (const number of numbers) this.#published.add(number)
    await Promise.all(
      numbers.map((number) => this.#client.publishAsync('matrix/1', JSON.stringify({ number }), { qos: 1 })),
    )
  }

  /** A message that the database refuses, so that its transaction is rolled back. */
  async #publishRefused(): Promise<void> {
    this.#deadLetters++
    await this.#client.publishAsync('matrix/1', JSON.stringify({ number: 'not a number' }), { qos: 1 })
  }

  async #checkFailure(expect: (isTrue: boolean, text: string) => void): Promise<void> {
    const { action } = this.#dependency
    const view = async (): Promise<readonly [string, string]> => {
      const { status, status_reason: reason } = await this.#view()
      return [status, reason]
    }
    for (const problem of await findUnnoticed(this.#broker, `action:${action}`, view, noticedMs)) expect(false, problem)
    const isLogged = this.#log
      .split('\n')
      .some((line) => /action (?:disconnected|gets no response)/.test(line) && line.includes(action))
    expect(isLogged, 'the log has no event')
    const arrived = await this.#dependency.arrived()
    const missing = [...this.#published].filter((number) => !arrived.has(number)).length
    const { queuing, inflight } = await this.#metrics()
    expect(queuing + inflight >= missing, `queuing ${queuing}, inflight ${inflight}, and ${missing} are missing`)
  }

  /** Checks that the action recovers by itself, and that everything arrives. */
  async #recovers(expect: (isTrue: boolean, text: string) => void, when: string): Promise<void> {
    let missing: readonly number[] = []
    const isDone = await isReachedWithin(recoveredMs, async () => {
      const { status } = await this.#view()
      if (status !== 'connected') return false
      const arrived = await this.#dependency.arrived()
      missing = [...this.#published].filter((number) => !arrived.has(number))
      const { queuing, inflight, dead_letters: dead } = await this.#metrics()
      const mayBeDead = this.#dependency.suspectsMessages === true
      const isComplete = mayBeDead ? missing.length <= dead : missing.length === 0 && dead === this.#deadLetters
      return isComplete && queuing + inflight === 0 && !(await this.#hasAlarm())
    })
    if (isDone) {
      const { status_reason: reason } = await this.#view()
      return expect(reason === '', `${when}: connected, with the reason ${reason}`)
    }
    const state = JSON.stringify([await this.#view(), await this.#metrics(), await this.#hasAlarm()])
    expect(false, `${when}: not recovered, ${missing.length} are missing: ${state}`)
  }

  async #control(
    operation: 'start' | 'stop' | 'restart',
    expect?: (isTrue: boolean, text: string) => void,
  ): Promise<void> {
    const startMs = Date.now()
    const { status, text } = await this.#broker.request(`/api/v5/actions/${this.#dependency.action}/${operation}`, {
      method: 'POST',
    })
    expect?.(status === 204, `${operation}: status ${status} ${text}`)
    const tookMs = Date.now() - startMs
    expect?.(tookMs < noticedMs, `${operation} took ${tookMs} ms`)
  }

  async #view(): Promise<ActionView> {
    return (await this.#broker.request(`/api/v5/actions/${this.#dependency.action}`)).json as ActionView
  }

  async #metrics(): Promise<Metrics> {
    const { json, text } = await this.#broker.request(`/api/v5/actions/${this.#dependency.action}/metrics`)
    const { metrics } = json as { readonly metrics?: Metrics }
    if (metrics === undefined) throw new Error(`the shard does not respond: ${text}\n${this.#log.slice(-2_000)}`)
    return metrics
  }

  #hasAlarm(): Promise<boolean> {
    return hasAlarm(this.#broker, `action:${this.#dependency.action}`)
  }
}
