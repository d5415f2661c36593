// The door: what every listener on sockets does with a client before anybody hears of it, whatever is spoken behind.
//
//   accept -> address -> room -> rate -> (PROXY header) -> onSocket
//
// A plain connection passes it without a listener, a timer or an object of its own beyond what it needs anyway: the two
// listeners on each socket are shared, and find what they need in two fields of the socket.

import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { ClientAddress, DoorRefusal, Listener } from './byte-stream.ts'
import { ConnectionBudget } from './connection-limits.ts'
import { AddressRules, type AddressRule } from './address-rules.ts'
import type { ConnectionRate } from './connection-rate.ts'
import { readProxyHeader, type ProxyProtocol } from './proxy-reader.ts'

export interface DoorOptions {
  readonly host: string
  /** 0: the system chooses one. */
  readonly port: number
  /**
   * Several listeners of this machine take the same port and the kernel deals out the connections. This one then opens it
   * `acceptorsOfOnePort` times itself.
   */
  readonly reusePort?: boolean
  /** What this listener, and all listeners of this thread together, may hold. Without it: no limit. */
  readonly budget?: ConnectionBudget
  /** New connections, of this listener and of several together: who comes too fast waits, and is refused if that takes too long. */
  readonly rates?: readonly ConnectionRate[]
  /** Which addresses may connect, in order: the first rule that fits decides. */
  readonly accessRules?: readonly AddressRule[] | undefined
  /** Connections begin with a PROXY header. */
  readonly proxyProtocol?: ProxyProtocol | undefined
  /** A client was turned away. `why` is for the log, where there is more to say than the reason. */
  onRefused?(reason: DoorRefusal, why?: string): void
  /** The system could not accept a connection. The listener goes on. */
  onFault?(error: Error): void
}

/**
 * A socket that came through the door. It holds its place in the budget until it closes, and its errors are heard: whoever
 * takes it over may set `guest` to hear of both, and need not listen for them again.
 */
export interface DoorSocket extends Socket {
  guest: DoorGuest | undefined
  doorBudget: ConnectionBudget
}

export interface DoorGuest {
  noteError(error: Error): void
  /** The last that is heard. */
  noteClosed(): void
}

export type Welcome = (socket: DoorSocket, client: ClientAddress) => void

/** A door that is open. */
export interface OpenDoor extends Listener {
  /** Who comes from now on is received as `options` say. Host and port are not looked at. */
  change(options: DoorOptions, onSocket: Welcome): void
}

/** Clients that the kernel holds for us during one turn; it takes less where its own limit is lower. */
const backlog = 4_096

/**
 * The event loop takes one connection from each listening socket and then looks again at everything that it waits for.
 * Where many clients come at once (a broker that was restarted) that costs as much as a client: with eight sockets, among
 * which the kernel deals them out, up to eight come in at each look. A third more connections a second.
 */
const acceptorsOfOnePort = 8

/**
 * Starts to listen; `onSocket` is called for each client that may come in. Rejects with the system's error (`EADDRINUSE`,
 * `EACCES`, `EADDRNOTAVAIL`) where it cannot.
 */
export async function openDoor(options: DoorOptions, onSocket: Welcome): Promise<OpenDoor> {
  const door = new Door(options, onSocket)
  const first = await openAcceptor(options, door)
  const { address: host, port } = first.address() as AddressInfo
  const acceptors = [first]
  try {
    const more = options.reusePort === true ? acceptorsOfOnePort - 1 : 0
    for (let i = 0; i < more; i++) acceptors.push(await openAcceptor({ ...options, port }, door))
  } catch (error) {
    // Half a door would let in half of those who knock.
    closeAll(acceptors)
    throw error
  }
  return {
    host,
    port,
    close(): Promise<void> {
      // Node reports the end of a server only when its last connection is gone; accepting stops at once.
      closeAll(acceptors)
      door.close()
      return Promise.resolve()
    },
    change: (changed, welcome) => door.change(changed, welcome),
  }
}

function openAcceptor({ host, port, reusePort = false }: DoorOptions, door: Door): Promise<Server> {
  const server = createServer({ noDelay: true }, (socket) => door.welcome(socket as DoorSocket))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, reusePort, exclusive: true, backlog }, () => {
      server.off('error', reject)
      server.on('error', (error) => door.noteFault(error))
      resolve(server)
    })
  })
}

function closeAll(acceptors: readonly Server[]): void {
  for (const acceptor of acceptors) acceptor.close()
}

class Door {
  #options: DoorOptions
  #budget: ConnectionBudget
  #rates: readonly ConnectionRate[]
  #onSocket: Welcome
  /** Undefined where everybody may come: nothing is asked then. */
  #rules: AddressRules | undefined
  #proxies: AddressRules | undefined
  /** Those who came too fast, with the time at which they are let in. */
  readonly #waiting: Map<DoorSocket, NodeJS.Timeout>

  constructor(options: DoorOptions, onSocket: Welcome) {
    this.#options = options
    this.#budget = budgetOf(options)
    this.#rates = options.rates ?? []
    this.#onSocket = onSocket
    this.#rules = rulesOf(options)
    this.#proxies = proxiesOf(options)
    this.#waiting = new Map()
  }

  change(options: DoorOptions, onSocket: Welcome): void {
    this.#options = options
    this.#budget = budgetOf(options)
    this.#rates = options.rates ?? []
    this.#onSocket = onSocket
    this.#rules = rulesOf(options)
    this.#proxies = proxiesOf(options)
  }

  noteFault(error: Error): void {
    this.#options.onFault?.(error)
  }

  welcome(socket: DoorSocket): void {
    // The last descriptors belong to the database and the log: a client that would take one is let in and out again,
    // so that it does not wait in the kernel's queue for ever.
    const { lack } = this.#budget
    if (lack !== undefined) return this.#refuse(socket, lack)
    if (!this.#mayKnock(socket)) return this.#refuse(socket, 'address-denied')
    const waitMs = this.#rates.length === 0 ? 0 : this.#waitMs()
    if (waitMs === undefined) return this.#refuse(socket, 'too-fast')
    const refusal = this.#budget.take()
    if (refusal !== undefined) return this.#refuse(socket, refusal)
    socket.doorBudget = this.#budget
    socket.guest = undefined
    socket.on('error', passError)
    socket.on('close', passClose)
    if (waitMs === 0) this.#letIn(socket)
    else this.#letInLater(socket, waitMs)
  }

  /** Nobody else is let in. */
  close(): void {
    for (const [socket, timer] of this.#waiting) {
      clearTimeout(timer)
      socket.destroy()
    }
    this.#waiting.clear()
  }

  #waitMs(): number | undefined {
    const nowMs = performance.now()
    let longestMs = 0
    for (const rate of this.#rates) {
      const waitMs = rate.waitMsAt(nowMs)
      if (waitMs === undefined) return undefined
      longestMs = Math.max(longestMs, waitMs)
    }
    return longestMs
  }

  /**
   * Nobody listens to it meanwhile, so nothing is read beyond its own buffer. A client that is closed at once comes again at
   * once, and so do ten thousand that lost their broker at the same moment; one that waits is served as soon as the rate allows,
   * in the order of coming.
   */
  #letInLater(socket: DoorSocket, waitMs: number): void {
    const timer = setTimeout(() => {
      this.#waiting.delete(socket)
      if (socket.destroyed) return
      // Who may knock, and who is believed as a proxy, may have changed meanwhile.
      if (this.#mayKnock(socket)) this.#letIn(socket)
      else this.#turnAway(socket, 'address-denied', plainAddress(socket.remoteAddress))
    }, waitMs)
    this.#waiting.set(socket, timer)
  }

  /** By the address that the system knows: of the client, or of the proxy that speaks for it. */
  #mayKnock(socket: DoorSocket): boolean {
    const rules = this.#options.proxyProtocol === undefined ? this.#rules : this.#proxies
    return rules === undefined || rules.allows(plainAddress(socket.remoteAddress))
  }

  #letIn(socket: DoorSocket): void {
    const peer = { address: plainAddress(socket.remoteAddress), port: socket.remotePort ?? 0 }
    const { proxyProtocol } = this.#options
    if (proxyProtocol === undefined) return this.#onSocket(socket, peer)
    readProxyHeader({
      socket,
      timeoutMs: proxyProtocol.timeoutMs,
      onClient: (client = peer) => {
        if (this.#rules === undefined || this.#rules.allows(client.address)) this.#onSocket(socket, client)
        else this.#turnAway(socket, 'address-denied', client.address)
      },
      onMalformed: (why) => this.#turnAway(socket, 'bad-beginning', `${peer.address}: ${why}`),
    })
  }

  #refuse(socket: DoorSocket, reason: DoorRefusal): void {
    socket.on('error', ignore)
    this.#turnAway(socket, reason, plainAddress(socket.remoteAddress))
  }

  #turnAway(socket: DoorSocket, reason: DoorRefusal, why: string): void {
    socket.destroy()
    this.#options.onRefused?.(reason, why)
  }
}

function budgetOf({ budget }: DoorOptions): ConnectionBudget {
  return budget ?? new ConnectionBudget(Number.POSITIVE_INFINITY)
}

function rulesOf({ accessRules = [] }: DoorOptions): AddressRules | undefined {
  return accessRules.length === 0 ? undefined : new AddressRules(accessRules)
}

function proxiesOf({ proxyProtocol }: DoorOptions): AddressRules | undefined {
  const trusted = proxyProtocol?.trusted ?? []
  return trusted.length === 0 ? undefined : new AddressRules(trusted.map((range) => ({ isAllowed: true, range })))
}

const ignore = (): void => {}

function passError(this: Socket, error: Error): void {
  const { guest } = this as DoorSocket
  guest?.noteError(error)
}

function passClose(this: Socket): void {
  const { guest, doorBudget } = this as DoorSocket
  doorBudget.giveBack()
  guest?.noteClosed()
}

/** An IPv4 client that reached an IPv6 socket is shown with the address that its owner knows. */
function plainAddress(address: string | undefined): string {
  if (address === undefined) return ''
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address
}
