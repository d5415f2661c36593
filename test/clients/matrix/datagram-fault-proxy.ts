// A UDP proxy in front of a service that fails as networks and services do: the faults of fault-proxy.ts, as far as datagrams have them.

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import type { Scope } from '../../e2e/godwit-process.ts'
import { reservePort } from '../../e2e/reserve-port.ts'
import type { Fault } from './fault-proxy.ts'
import type { Proxies } from './proxied-services.ts'

const delayMs = 1_000

/** `reset`: half of the next answer arrives, and then nothing listens for this client. Other faults: see `Fault`. */
export class DatagramFaultProxy implements Proxies {
  readonly port: number
  readonly #targetPort: number
  readonly #lateMs: number
  readonly #flows = new Map<string, Flow>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #socket: Socket | undefined
  #fault: Fault | undefined

  private constructor(port: number, targetPort: number, lateMs: number) {
    this.port = port
    this.#targetPort = targetPort
    this.#lateMs = lateMs
  }

  static async start(
    t: Scope,
    targetPort: number,
    { lateMs }: { readonly lateMs: number },
  ): Promise<DatagramFaultProxy> {
    const proxy = new DatagramFaultProxy(await reservePort(t), targetPort, lateMs)
    await proxy.#listen()
    t.after(() => proxy.#stop())
    return proxy
  }

  /** Number of clients that have sent since the last fault ended: datagrams do not tell when a client has closed its connection. */
  get open(): number {
    return [...this.#flows.values()].filter(({ hasSent }) => hasSent).length
  }

  async begin(fault: Fault): Promise<void> {
    this.#fault = fault
    if (fault === 'refuse') this.#stop()
    if (fault === 'silent' || fault === 'freeze') for (const flow of this.#flows.values()) flow.isDead = true
  }

  async heal(): Promise<void> {
    this.#fault = undefined
    for (const flow of this.#flows.values()) flow.hasSent = false
    if (this.#socket === undefined) await this.#listen()
  }

  async #listen(): Promise<void> {
    const socket = createSocket('udp4', (datagram, client) => this.#passToService(datagram, client))
    // An answer to a client that listens no more.
    socket.on('error', () => {})
    socket.bind(this.port, '127.0.0.1')
    await once(socket, 'listening')
    this.#socket = socket
  }

  #stop(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    for (const { service } of this.#flows.values()) service.close()
    this.#flows.clear()
    this.#socket?.close()
    this.#socket = undefined
  }

  #passToService(datagram: Buffer, client: RemoteInfo): void {
    const flow = this.#flowOf(client)
    flow.hasSent = true
    if (flow.isDead) return
    this.#later(this.#fault === 'delay' ? delayMs : 0, flow, () =>
      flow.service.send(datagram, this.#targetPort, '127.0.0.1'),
    )
  }

  #flowOf({ port }: RemoteInfo): Flow {
    const key = String(port)
    const known = this.#flows.get(key)
    if (known !== undefined) return known
    const service = createSocket('udp4', (datagram) => this.#passToClient(datagram, flow, port))
    service.on('error', () => {})
    const flow: Flow = { service, isDead: this.#fault === 'silent', hasSent: true }
    this.#flows.set(key, flow)
    return flow
  }

  #passToClient(datagram: Buffer, flow: Flow, port: number): void {
    if (flow.isDead) return
    const send = (bytes: Buffer): void => this.#socket?.send(bytes, port, '127.0.0.1')
    if (this.#fault === 'reset') {
      flow.isDead = true
      return send(datagram.subarray(0, datagram.length >> 1))
    }
    const bytes = this.#fault === 'nonsense' ? randomBytes(datagram.length) : datagram
    const waitMs = { delay: delayMs, late: this.#lateMs }[String(this.#fault)] ?? 0
    this.#later(waitMs, flow, () => send(bytes))
  }

  #later(waitMs: number, flow: Flow, work: () => void): void {
    if (waitMs === 0) return work()
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      if (!flow.isDead) work()
    }, waitMs)
    this.#timers.add(timer)
  }
}

/** The datagrams of one client port. */
interface Flow {
  readonly service: Socket
  isDead: boolean
  hasSent: boolean
}
