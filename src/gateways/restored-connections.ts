// Connections of devices that were known before a restart of the broker. At that moment the shard of a session may still be starting, or the limit of
// new connections may be reached: the broker refuses the connection for the time being. The device sleeps or waits, so it cannot connect again by
// itself, and its stored state must not end. So the gateway tries again.

import { Deadlines } from '../core/index.ts'
import {
  type AckType,
  type ControlPacket,
  type Packet,
  type PacketId,
  type PublishFields,
  reasonCodes,
} from '../protocol/index.ts'
import type { GatewayDependencies, MqttConnection, MqttConnectionCallbacks } from './gateway.ts'

const minRetryMs = 500
const maxRetryMs = 30_000

const congestionCodes: ReadonlySet<number> = new Set([
  reasonCodes.serverUnavailable,
  reasonCodes.serverBusy,
  reasonCodes.quotaExceeded,
  reasonCodes.connectionRateExceeded,
])

/** Whether the same request may succeed later. */
export function isCongestion(reasonCode: number): boolean {
  return congestionCodes.has(reasonCode)
}

type Open = (callbacks: MqttConnectionCallbacks) => MqttConnection

export class RestoredConnections {
  readonly #dependencies: Pick<GatewayDependencies, 'nowMs'>
  /** Called when `dueAtMs` has changed. */
  readonly #plan: () => void
  readonly #deadlines = new Deadlines<'retry', RestoredConnection>()

  constructor(dependencies: Pick<GatewayDependencies, 'nowMs'>, plan: () => void) {
    this.#dependencies = dependencies
    this.#plan = plan
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    return this.#deadlines.findNextMs()
  }

  tick(): void {
    const nowMs = this.#dependencies.nowMs()
    for (let due = this.#deadlines.takeDue(nowMs); due !== undefined; due = this.#deadlines.takeDue(nowMs))
      due.subject.connectAgain()
  }

  /** `open` is called for each attempt, because the device may have another address by then. */
  open(open: Open, callbacks: MqttConnectionCallbacks): MqttConnection {
    const connection: RestoredConnection = new RestoredConnection(open, callbacks, {
      retryAfter: (ms) => {
        this.#deadlines.set('retry', connection, this.#dependencies.nowMs() + ms)
        this.#plan()
      },
      cancel: () => this.#deadlines.cancel('retry', connection),
    })
    return connection
  }
}

interface Retries {
  retryAfter(ms: number): void
  cancel(): void
}

class RestoredConnection implements MqttConnection, MqttConnectionCallbacks {
  readonly #open: Open
  readonly #callbacks: MqttConnectionCallbacks
  readonly #retries: Retries
  #connect: ControlPacket | undefined
  #isAccepted = false
  #delayMs = minRetryMs
  /** Undefined: it waits for the next attempt, or has ended. */
  #connection: MqttConnection | undefined

  constructor(open: Open, callbacks: MqttConnectionCallbacks, retries: Retries) {
    this.#open = open
    this.#callbacks = callbacks
    this.#retries = retries
    this.#connection = open(this)
  }

  connectAgain(): void {
    if (this.#connect === undefined) return
    this.#connection = this.#open(this)
    this.#connection.send(this.#connect)
  }

  // Calls of the gateway

  /** While it waits, publications are refused. */
  get unsentBytes(): number {
    return this.#connection?.unsentBytes ?? Infinity
  }

  send(packet: ControlPacket): void {
    if (packet.type === 'connect') this.#connect = packet
    this.#connection?.send(packet)
  }

  acknowledge(type: AckType, packetId: PacketId): void {
    this.#connection?.acknowledge(type, packetId)
  }

  publish(fields: PublishFields): void {
    this.#connection?.publish(fields)
  }

  pause(): void {
    this.#connection?.pause()
  }

  resume(): void {
    this.#connection?.resume()
  }

  reportClientChange(): void {
    this.#connection?.reportClientChange()
  }

  end(goodbye: ControlPacket | undefined): void {
    this.#connect = undefined
    this.#retries.cancel()
    this.#connection?.end(goodbye)
    this.#connection = undefined
  }

  // Packets of the broker

  handlePacket(packet: Packet): void {
    if (this.#connection === undefined) return
    if (packet.type === 'connack' && !this.#isAccepted) {
      if (isCongestion(packet.reasonCode)) return this.#retry()
      this.#isAccepted = true
    }
    this.#callbacks.handlePacket(packet)
  }

  handleWritten(): void {
    this.#callbacks.handleWritten?.()
  }

  handleClosed(): void {
    if (this.#connection === undefined) return
    if (this.#isAccepted) this.#callbacks.handleClosed()
    else this.#retry()
  }

  #retry(): void {
    this.#connection?.end(undefined)
    this.#connection = undefined
    this.#retries.retryAfter(this.#delayMs)
    this.#delayMs = Math.min(maxRetryMs, this.#delayMs * 2)
  }
}
