// The observations of a device [RFC 7641], each begun by a command. They continue after a restart.

import type { CoapMessage } from '../coap/endpoint/coap-message.ts'
import { options, readUint } from '../coap/endpoint/coap-message.ts'
import { findOwnerShard, type ShardPlace } from '../shard-place.ts'
import { type Command, parseCommand } from './commands.ts'
import { parsePath, formatPath } from './lwm2m-path.ts'
import type { StoredDevice } from './registration.ts'

const maxObservations = 256

/** [RFC 7641 3.4] The numbers of notifications are compared within this time, and modulo 2^24. */
const maxReorderMs = 128_000
const halfOfNumbers = 0x800000

interface Observation {
  readonly command: Command
  readonly token: Buffer
  /** The newest notification. Undefined: none since the broker started. */
  latest?: { readonly number: number; readonly messageId: number; readonly atMs: number }
  /** Cancels reading the rest of a notification. */
  cancelReading?: () => void
}

export class Lwm2mObservations {
  /** By token. */
  readonly #running = new Map<string, Observation>()
  /**
   * Stored before the number of shards changed: notifications with these tokens are passed to another shard. It rejects them, and the device
   * ends these observations. They begin again with new tokens, one after the other.
   */
  readonly #misrouted = new Map<string, Observation>()

  constructor(stored: StoredDevice['observations'], place: ShardPlace) {
    for (const { fields, token } of stored) {
      const command = parseCommand(Buffer.from(JSON.stringify(fields)))
      if (typeof command === 'string') continue
      const list = findOwnerShard(token, place) === place.own ? this.#running : this.#misrouted
      list.set(token, { command, token: Buffer.from(token, 'hex') })
    }
  }

  /** The form of the observations that is stored across restarts. */
  get stored(): StoredDevice['observations'] {
    return [...this.#running.values(), ...this.#misrouted.values()].map(({ command: { received: fields }, token }) => ({
      fields,
      token: token.toString('hex'),
    }))
  }

  /** Returns the command that began the observation with this token. */
  findCommand(token: Buffer): Command | undefined {
    return this.#running.get(token.toString('hex'))?.command
  }

  /** The token of a command that begins or ends the observation of a path, if that path is observed: both have the same token. */
  findToken({ observes, path }: Command): Buffer | undefined {
    if (observes === undefined) return undefined
    const text = formatPath(path)
    for (const { command, token } of this.#running.values())
      if (formatPath(parsePath(command.pathText) ?? []) === text) return token
    return undefined
  }

  /** The command of the next observation that must begin again. */
  get nextToBegin(): Command | undefined {
    const [first] = this.#misrouted.values()
    return first?.command
  }

  /** A command that begins or ends an observation was sent. It replaces one of the same path that would begin again. */
  recordSent({ pathText }: Command): void {
    for (const [token, { command }] of this.#misrouted) if (command.pathText === pathText) this.#misrouted.delete(token)
  }

  /** Returns whether a notification is newer than those before: the network may repeat and reorder them. Then it is the newest. */
  isFresh(notification: CoapMessage, nowMs: number): boolean {
    const observation = this.#running.get(notification.token.toString('hex'))
    const number = readUint(notification, options.observe)
    // Without a number, it is the last one.
    if (observation === undefined || number === undefined) return true
    const { latest } = observation
    const { messageId } = notification
    if (latest !== undefined) {
      const isCopy = latest.number === number && latest.messageId === messageId
      if (isCopy || (!isNewer(latest.number, number) && nowMs <= latest.atMs + maxReorderMs)) return false
    }
    observation.latest = { number, messageId, atMs: nowMs }
    return true
  }

  /** A newer notification has another content. */
  cancelReading(token: Buffer): void {
    this.#running.get(token.toString('hex'))?.cancelReading?.()
  }

  recordReading(token: Buffer, cancel: () => void): void {
    const observation = this.#running.get(token.toString('hex'))
    if (observation !== undefined) observation.cancelReading = cancel
  }

  /** The device has responded to a command; `known` is the result of `findToken`. */
  handleResponse(
    command: Command,
    response: CoapMessage,
    { known, nowMs }: { readonly known: Buffer | undefined; readonly nowMs: number },
  ): void {
    const key = response.token.toString('hex')
    if (command.observes === 'end' && known !== undefined) this.#running.delete(known.toString('hex'))
    const isObserved = command.observes === 'begin' && readUint(response, options.observe) !== undefined
    const hasSpace = this.#running.size < maxObservations || this.#running.has(key)
    if (!isObserved || !hasSpace) return
    const number = readUint(response, options.observe) ?? 0
    const latest = { number, messageId: response.messageId, atMs: nowMs }
    this.#running.set(key, { command, token: response.token, latest })
  }

  /** The device has ended the observation with this token. */
  delete(token: Buffer): void {
    this.#running.delete(token.toString('hex'))
  }

  clear(): void {
    for (const { cancelReading } of this.#running.values()) cancelReading?.()
    this.#running.clear()
    this.#misrouted.clear()
  }
}

function isNewer(before: number, now: number): boolean {
  return before < now ? now - before < halfOfNumbers : before - now > halfOfNumbers
}
