// Cookies of HelloVerifyRequest (RFC 6347 4.2.1): a client that returns one receives datagrams at its address. Nothing
// is stored: a cookie is a code over the address and the rest of ClientHello. The secret changes every minute; the
// previous one remains valid.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ClientHello } from './handshake-messages.ts'

const secretBytes = 32
const cookieBytes = 20
const secretLifetimeMs = 60_000

export class Cookies {
  readonly #random: (bytes: number) => Buffer
  #current: Buffer
  #previous: Buffer
  #changesAtMs: number

  constructor(random: (bytes: number) => Buffer, nowMs: number) {
    this.#random = random
    this.#current = random(secretBytes)
    this.#previous = random(secretBytes)
    this.#changesAtMs = nowMs + secretLifetimeMs
  }

  make(hello: ClientHello, peer: string, nowMs: number): Buffer {
    this.#change(nowMs)
    return computeCookie(this.#current, hello, peer)
  }

  isGood(hello: ClientHello, peer: string, nowMs: number): boolean {
    if (hello.cookie.length !== cookieBytes) return false
    this.#change(nowMs)
    return [this.#current, this.#previous].some((secret) =>
      timingSafeEqual(computeCookie(secret, hello, peer), hello.cookie),
    )
  }

  #change(nowMs: number): void {
    if (nowMs < this.#changesAtMs) return
    const isLate = nowMs >= this.#changesAtMs + secretLifetimeMs
    this.#previous = isLate ? this.#random(secretBytes) : this.#current
    this.#current = this.#random(secretBytes)
    this.#changesAtMs = nowMs + secretLifetimeMs
  }
}

function computeCookie(secret: Buffer, hello: ClientHello, peer: string): Buffer {
  const code = createHmac('sha256', secret).update(`${peer}\n`)
  for (const part of hello.withoutCookie) code.update(part)
  return code.digest().subarray(0, cookieBytes)
}
