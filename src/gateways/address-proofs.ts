// Which addresses have proven that they receive what is sent to them. The address of a datagram may be forged: then its owner would get
// everything that the forged datagrams asked for. An address proves itself by a response that depends on what was sent to it: an acknowledgement
// with a random number, a token of the gateway, the handshake of DTLS.
//
// Until then an address has a budget of three times the bytes that came from it, for responses and for everything else.

import { isLoopback, type PeerAddress } from '../transports/index.ts'

const maxFactor = 3
/** Maximum of each; the oldest are dropped first: then an address must prove itself again, and has no budget. */
const maxAddresses = 65_536
/** An address may have another owner later. */
const validMs = 86_400_000

export class AddressProofs {
  readonly #nowMs: () => number
  /** The time until which the proof is valid, by address and port. */
  readonly #proven = new Map<string, number>()
  /** Bytes that may still be sent. */
  readonly #budgets = new Map<string, number>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  recordReceived(peer: PeerAddress, bytes: number): void {
    if (this.isProven(peer)) return
    const key = toPeerKey(peer)
    const budget = this.#budgets.get(key) ?? 0
    setNewest(this.#budgets, key, budget + bytes * maxFactor)
  }

  recordProof(peer: PeerAddress): void {
    if (isAlwaysProven(peer)) return
    const key = toPeerKey(peer)
    this.#budgets.delete(key)
    setNewest(this.#proven, key, this.#nowMs() + validMs)
  }

  isProven(peer: PeerAddress): boolean {
    return isAlwaysProven(peer) || (this.#proven.get(toPeerKey(peer)) ?? -Infinity) > this.#nowMs()
  }

  /** Returns false if these bytes must not be sent to this address now. */
  take(peer: PeerAddress, bytes: number): boolean {
    if (this.isProven(peer)) return true
    const key = toPeerKey(peer)
    const budget = this.#budgets.get(key) ?? 0
    if (budget < bytes) return false
    this.#budgets.set(key, budget - bytes)
    return true
  }

  /** These bytes were taken and not sent. An address that was dropped since gets nothing back. */
  returnBytes(peer: PeerAddress, bytes: number): void {
    const key = toPeerKey(peer)
    const budget = this.#budgets.get(key)
    if (budget !== undefined) this.#budgets.set(key, budget + bytes)
  }

  /** Counts a response, whose size the protocol limits. */
  recordResponse(peer: PeerAddress, bytes: number): void {
    if (this.isProven(peer)) return
    const key = toPeerKey(peer)
    this.#budgets.set(key, (this.#budgets.get(key) ?? 0) - bytes)
  }
}

/** Over DTLS, the handshake proves the address at which it was made. */
function isAlwaysProven(peer: PeerAddress): boolean {
  const { address, port, secure } = peer
  if (secure === undefined) return isLoopback(address)
  const { openedAt } = secure
  return openedAt === undefined || (openedAt.address === address && openedAt.port === port) || isLoopback(address)
}

function toPeerKey({ address, port, secure }: PeerAddress): string {
  return secure === undefined ? `${address}|${port}` : `${address}|${port}|${secure.id}`
}

function setNewest(map: Map<string, number>, key: string, value: number): void {
  map.delete(key)
  const [oldest] = map.keys()
  if (map.size >= maxAddresses && oldest !== undefined) map.delete(oldest)
  map.set(key, value)
}
