// Follows each will: when it becomes due, which event cancels it, and when the witness receives it. The witness is a correct
// client that subscribes to all wills.
//
//   CONNACK --> armed --DISCONNECT 0x00--------------------> cancelled
//                 |--connection ends otherwise--> due ------> published
//                                                  |--client returns to its session before--> cancelled
//
// A will whose state cannot be known (a pending CONNECT, a crash with a clean session)
// is `unsure` and is not checked.

import { reasonCodes, type ConnectPacket, type DisconnectPacket } from '../../src/protocol/index.ts'
import type { Stage } from './stage.ts'

type WillState = 'armed' | 'due' | 'cancelled' | 'unsure'

interface Will {
  readonly clientId: string
  readonly payload: string
  readonly delayMs: number
  /** Ends the delay if it is shorter. */
  expiryMs: number
  state: WillState
  /** Infinity while the will is armed. */
  dueAtMs: number
  /** The broker failed during the delay: the disk may have the time, or only the delay, which then restarts. */
  delayMayBeginAnew: boolean
  cancelledAtMs: number
  /** Times at which the witness received it, without redeliveries with DUP. */
  readonly receivedAtMs: number[]
}

/** Maximum time for which the disk may fail before a due will is sent; the witness may have to reconnect first. */
const timeoutMs = 20_000
/** One turn of the broker, and the network to the witness. */
const haste = 10

const neverExpires = 0xffff_ffff

export class WillMonitor {
  /** The witness has subscribed. It received no earlier wills. */
  hasWitness: boolean
  private readonly stage: Stage
  private readonly wills: Map<string, Will>
  private readonly byClient: Map<string, Will>
  private hasCrashed: boolean

  constructor(stage: Stage) {
    this.hasWitness = false
    this.stage = stage
    this.wills = new Map()
    this.byClient = new Map()
    this.hasCrashed = false
  }

  /** CONNACK was sent to a client; `sinceMs`: time of its CONNECT; `isEnding`: the broker is closing the connection. */
  letIn(connect: ConnectPacket, from: { sinceMs: number; sessionPresent: boolean; isEnding: boolean }): void {
    this.returned(connect.clientId, from)
    const { will } = connect
    if (will === undefined || !will.topic.startsWith('wills/')) return // Other topics have no subscriber.
    const payload = will.payload.toString()
    const expirySeconds =
      connect.version < 5
        ? connect.cleanStart
          ? 0
          : neverExpires
        : (connect.properties?.sessionExpiryIntervalSeconds ?? 0)
    const kept: Will = {
      clientId: connect.clientId,
      payload,
      delayMs: (will.properties?.willDelayIntervalSeconds ?? 0) * 1_000,
      expiryMs: expirySeconds === neverExpires ? Infinity : expirySeconds * 1_000,
      // The broker accepts the client while it is already closing the connection, whose end has an unknown time.
      state: from.isEnding || !this.hasWitness ? 'unsure' : 'armed',
      dueAtMs: Infinity,
      delayMayBeginAnew: false,
      cancelledAtMs: Infinity,
      receivedAtMs: [],
    }
    this.wills.set(payload, kept)
    this.byClient.set(connect.clientId, kept)
  }

  /** DISCONNECT was received: with 0x04 the will is published. */
  noteDisconnect(connect: ConnectPacket, { reasonCode, properties }: DisconnectPacket): void {
    const will = this.armed(connect)
    if (will === undefined) return
    const expirySeconds = properties?.sessionExpiryIntervalSeconds
    if (expirySeconds !== undefined) will.expiryMs = expirySeconds * 1_000
    if (reasonCode === reasonCodes.disconnectWithWill) this.becomesDue(will)
    else this.cancel(will)
  }

  /** The connection has ended, from either side. */
  ended(connect: ConnectPacket): void {
    const will = this.armed(connect)
    if (will !== undefined) this.becomesDue(will)
  }

  /** The broker crashed, or the shard of these clients, with their connections. */
  crashed(isOfIt: (clientId: string) => boolean): void {
    this.hasCrashed = true
    for (const will of this.wills.values()) if (isOfIt(will.clientId)) this.crashedWith(will)
  }

  /** The broker runs again, and publishes the wills of clients that have not returned. */
  restarted(isOfIt: (clientId: string) => boolean): void {
    for (const will of this.byClient.values()) {
      if (isOfIt(will.clientId) && will.state === 'due' && will.dueAtMs === Infinity) this.becomesDue(will)
    }
  }

  /** A connection without a sent CONNACK ended: the broker perhaps considered its client as returned. */
  perhapsReturned(clientId: string, sinceMs: number): void {
    const will = this.byClient.get(clientId)
    if (will !== undefined && will.state !== 'cancelled' && will.dueAtMs > sinceMs) will.state = 'unsure'
  }

  noteReceived(message: { payload: string; dup: boolean }): void {
    const receivedAtMs = this.wills.get(message.payload)?.receivedAtMs
    if (receivedAtMs !== undefined && (receivedAtMs.length === 0 || !message.dup)) receivedAtMs.push(this.stage.nowMs)
  }

  /**
   * Called at the end of the scenario. `behindMs`: how far the clock of the broker is behind. `wasDropped`: the broker reported
   * a drop at a named limit.
   */
  check(behindMs: number, wasDropped: (payload: string) => boolean): void {
    for (const will of this.wills.values()) {
      if (!wasDropped(will.payload)) this.judgeOne(will, timeoutMs + behindMs)
    }
  }

  private judgeOne(will: Will, timeoutMs: number): void {
    const allowedMs = timeoutMs + (will.delayMayBeginAnew ? will.delayMs : 0)
    const { payload, receivedAtMs, dueAtMs, state } = will
    const [first] = receivedAtMs
    if (receivedAtMs.length > 1 && !this.hasCrashed)
      this.stage.fail(`the will "${payload}" was published ${receivedAtMs.length} times`)
    if (state === 'unsure') return
    if (first === undefined) {
      if (state === 'due' && dueAtMs + allowedMs < this.stage.nowMs)
        this.stage.fail(`the will "${payload}" was due and was never published [MQTT-3.1.2-8]`)
      return
    }
    if (state === 'armed') this.stage.fail(`the will "${payload}" was published while its client was connected`)
    if (state === 'cancelled')
      this.stage.fail(
        `the will "${payload}" was published after its client had returned or sent DISCONNECT [MQTT-3.1.2-10]`,
      )
    if (first > dueAtMs + allowedMs) this.stage.fail(`the will "${payload}" was published ${first - dueAtMs} ms late`)
    if (first < dueAtMs - haste && !this.hasCrashed)
      this.stage.fail(`the will "${payload}" was published ${dueAtMs - first} ms before it was due [MQTT5-3.1.3-9]`)
  }

  private armed({ clientId, will }: ConnectPacket): Will | undefined {
    const known = will === undefined ? undefined : this.wills.get(will.payload.toString())
    return known?.state === 'armed' && known.clientId === clientId ? known : undefined
  }

  private crashedWith(will: Will): void {
    const { nowMs } = this.stage
    // Writes to a failing disk may be lost: the cancellation, the publication, and the will itself if the session ends
    // with its connection.
    if (will.state === 'cancelled' && will.cancelledAtMs > nowMs - timeoutMs) will.state = 'unsure'
    if (will.state === 'armed') {
      will.state = will.expiryMs === 0 ? 'unsure' : 'due'
      will.delayMayBeginAnew = true
    } else if (will.state === 'due' && will.dueAtMs <= nowMs) will.state = 'unsure'
    else if (will.state === 'due') will.delayMayBeginAnew = true
  }

  private cancel(will: Will): void {
    will.state = 'cancelled'
    will.cancelledAtMs = this.stage.nowMs
  }

  private becomesDue(will: Will): void {
    will.state = 'due'
    will.dueAtMs = this.stage.nowMs + Math.min(will.delayMs, will.expiryMs)
  }

  /** The client was accepted again, which ends the delay in either case. */
  private returned(clientId: string, from: { sinceMs: number; sessionPresent: boolean }): void {
    const will = this.byClient.get(clientId)
    this.byClient.delete(clientId)
    if (will === undefined || will.state === 'cancelled' || will.state === 'unsure') return
    if (will.state === 'armed') this.becomesDue(will)
    if (will.dueAtMs <= from.sinceMs) {
      if (will.delayMayBeginAnew) will.state = 'unsure'
      return
    }
    // The order of the return and of the due time within this interval is unknown.
    if (will.dueAtMs <= this.stage.nowMs) will.state = 'unsure'
    else if (from.sessionPresent) this.cancel(will)
    else will.dueAtMs = from.sinceMs // [MQTT5-3.1.2.5] The old session has ended, and with it the delay.
  }
}
