// A UDP socket. Only the kernel buffers datagrams: those that cannot be sent are lost.

import { createSocket, type Socket, type SocketOptions } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { AccessRule } from '../../config/index.ts'
import { AddressRules } from '../limits/address-rules.ts'

/** Receive buffer of the kernel: a burst of small datagrams. */
const receiveBufferBytes = 4_194_304
/** Maximum bytes that the system has not accepted; further datagrams are dropped. */
const maxSendQueueBytes = 8_388_608

export interface UdpOptions {
  readonly host: string
  readonly port: number
  readonly accessRules: readonly AccessRule[]
  /** Other shards have sockets on the same port: SO_REUSEPORT is set. */
  readonly sharesPort: boolean
  /** Receives datagrams to this group on the interface of `host`, and none to `host`. */
  readonly multicastGroup?: string | undefined
  readonly receiveBufferBytes?: number | undefined
  readonly sendBufferBytes?: number | undefined
  /** The receiver owns the bytes. */
  onDatagram(bytes: Buffer, address: string, port: number): void
  /** The socket failed and is closed. */
  onFault(error: Error): void
}

export interface UdpSocket {
  readonly port: number
  send(bytes: Buffer, address: string, port: number): void
  /** Sends to all hosts of the network. */
  broadcast(bytes: Buffer): void
  close(): Promise<void>
}

export function openUdp(options: UdpOptions): Promise<UdpSocket> {
  const { host, port, accessRules, sharesPort, multicastGroup } = options
  const rules = accessRules.length === 0 ? undefined : new AddressRules(accessRules)
  const isSix = isIPv6(host)
  // Destinations are addresses: without a lookup a datagram is sent within the call, before the socket can be closed.
  const lookup: NonNullable<SocketOptions['lookup']> = (address, _, done) => done(null, address, isSix ? 6 : 4)
  const socket = createSocket({
    type: isSix ? 'udp6' : 'udp4',
    reuseAddr: multicastGroup !== undefined,
    reusePort: sharesPort,
    lookup,
  })
  const received = new ReceivedDatagrams(options)
  socket.on('message', (bytes, { address, port: from }) => {
    const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
    if (from !== 0 && (rules === undefined || rules.allows(plain))) received.add(bytes, plain, from)
  })
  socket.on('close', () => received.drop())
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ address: multicastGroup ?? host, port, exclusive: true }, () => {
      if (multicastGroup !== undefined) socket.addMembership(multicastGroup, host === '0.0.0.0' ? undefined : host)
      socket.off('error', reject)
      socket.on('error', (error) => {
        socket.close()
        options.onFault(error)
      })
      // The system may limit it.
      socket.setRecvBufferSize(options.receiveBufferBytes ?? receiveBufferBytes)
      if (options.sendBufferBytes !== undefined) socket.setSendBufferSize(options.sendBufferBytes)
      resolve(createUdpSocket(socket, isSix, host))
    })
  })
}

/**
 * Datagrams that one read of the socket returned, at most 32. They are handled together after the read, so the shard has one turn and
 * a connection one write for all of them, and the responses are sent together.
 */
class ReceivedDatagrams {
  readonly #receiver: Pick<UdpOptions, 'onDatagram'>
  #waiting: { readonly bytes: Buffer; readonly address: string; readonly port: number }[] = []
  readonly #handleWaiting = (): void => this.#handle()

  constructor(receiver: Pick<UdpOptions, 'onDatagram'>) {
    this.#receiver = receiver
  }

  add(bytes: Buffer, address: string, port: number): void {
    if (this.#waiting.length === 0) setImmediate(this.#handleWaiting)
    this.#waiting.push({ bytes, address, port })
  }

  /** The socket is closed. */
  drop(): void {
    this.#waiting = []
  }

  #handle(): void {
    const datagrams = this.#waiting
    this.#waiting = []
    for (const { bytes, address, port } of datagrams) this.#receiver.onDatagram(bytes, address, port)
  }
}

/** A datagram that the network refuses (no listener, no route) is lost like any other. */
const ignoreLoss = (): void => {}

/** A socket on loopback is not advertised to hosts that cannot reach it. */
const selectBroadcastAddress = (host: string): string =>
  host.startsWith('127.') ? '127.255.255.255' : '255.255.255.255'

function createUdpSocket(socket: Socket, isSix: boolean, host: string): UdpSocket {
  const send = (bytes: Buffer, address: string, port: number): void => {
    if (socket.getSendQueueSize() > maxSendQueueBytes) return
    const target = isSix && address.includes('.') ? `::ffff:${address}` : address
    socket.send(bytes, port, target, ignoreLoss)
  }
  return {
    port: socket.address().port,
    send,
    broadcast: (bytes) => {
      if (isSix) return
      socket.setBroadcast(true)
      send(bytes, selectBroadcastAddress(host), socket.address().port)
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}
