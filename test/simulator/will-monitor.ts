// Follows every will that the broker was given: when it becomes due, what cancels it, and when it reaches the witness,
// a client that has subscribed to all wills and never misbehaves.
//
//   CONNACK --> armed --DISCONNECT 0x00--------------------> cancelled
//                 |--connection ends otherwise--> due ------> published
//                                                  |--client returns to its session before--> cancelled
//
// What the broker's end may still not know (an acceptance under way, what a crash left of a session that is not kept)
// is `unsure`, and not judged.

import { reasonCodes, type ConnectPacket, type DisconnectPacket } from '../../src/protocol/index.ts'
import type { Stage } from './stage.ts'

type WillState = 'armed' | 'due' | 'cancelled' | 'unsure'

interface Will {
  readonly clientId: string
  readonly payload: string
  readonly delayMs: number
  /** Ends the delay where it is shorter. */
  expiryMs: number
  state: WillState
  /** While armed Infinity. */
  dueAtMs: number
  /** The broker failed while the delay ran: the disk may know the time, or only the delay and restart it. */
  delayMayBeginAnew: boolean
  cancelledAtMs: number
  /** Times of arrival at the witness, without those that came again with DUP. */
  readonly heardAtMs: number[]
}

/** The disk may fail for so long before what is due leaves, and the witness may have to come back first. */
const timeoutMs = 20_000
/** A turn of the broker, and the way to the witness. */
const haste = 10

const neverExpires = 0xffff_ffff

export class WillMonitor {
  /** The witness has subscribed. It did not see what was due before. */
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

  /** CONNACK has left for a client; `sinceMs`: when its CONNECT had come; `isEnding`: the broker ends it already. */
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
      // The broker is already closing the client that it only now accepts: its end came before, at an unknown time.
      state: from.isEnding || !this.hasWitness ? 'unsure' : 'armed',
      dueAtMs: Infinity,
      delayMayBeginAnew: false,
      cancelledAtMs: Infinity,
      heardAtMs: [],
    }
    this.wills.set(payload, kept)
    this.byClient.set(connect.clientId, kept)
  }

  /** DISCONNECT has come: with 0x04 the client wants its will published. */
  saidGoodbye(connect: ConnectPacket, { reasonCode, properties }: DisconnectPacket): void {
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

  /** The broker has died, or the shard of these clients, with their connections. */
  crashed(isOfIt: (clientId: string) => boolean): void {
    this.hasCrashed = true
    for (const will of this.wills.values()) if (isOfIt(will.clientId)) this.crashedWith(will)
  }

  /** It lives again, and finds the wills of those who have not come back. */
  restarted(isOfIt: (clientId: string) => boolean): void {
    for (const will of this.byClient.values()) {
      if (isOfIt(will.clientId) && will.state === 'due' && will.dueAtMs === Infinity) this.becomesDue(will)
    }
  }

  /** A connection is over whose CONNACK never left: perhaps the broker had taken its client for returned. */
  perhapsReturned(clientId: string, sinceMs: number): void {
    const will = this.byClient.get(clientId)
    if (will !== undefined && will.state !== 'cancelled' && will.dueAtMs > sinceMs) will.state = 'unsure'
  }

  heard(message: { payload: string; dup: boolean }): void {
    const heardAtMs = this.wills.get(message.payload)?.heardAtMs
    if (heardAtMs !== undefined && (heardAtMs.length === 0 || !message.dup)) heardAtMs.push(this.stage.nowMs)
  }

  /**
   * At the end of the scenario. `behindMs`: the broker's clock is behind the world's by so much. `wasDropped`: a limit with
   * a name was reached and the broker said so.
   */
  judge(behindMs: number, wasDropped: (payload: string) => boolean): void {
    for (const will of this.wills.values()) {
      if (!wasDropped(will.payload)) this.judgeOne(will, timeoutMs + behindMs)
    }
  }

  private judgeOne(will: Will, timeoutMs: number): void {
    const allowedMs = timeoutMs + (will.delayMayBeginAnew ? will.delayMs : 0)
    const { payload, heardAtMs, dueAtMs, state } = will
    const [first] = heardAtMs
    if (heardAtMs.length > 1 && !this.hasCrashed)
      this.stage.fail(`the will "${payload}" was published ${heardAtMs.length} times`)
    if (state === 'unsure') return
    if (first === undefined) {
      if (state === 'due' && dueAtMs + allowedMs < this.stage.nowMs)
        this.stage.fail(`the will "${payload}" was due and was never published [MQTT-3.1.2-8]`)
      return
    }
    if (state === 'armed') this.stage.fail(`the will "${payload}" was published while its client was there`)
    if (state === 'cancelled')
      this.stage.fail(
        `the will "${payload}" was published after its client had come back or said goodbye [MQTT-3.1.2-10]`,
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
    // What was under way to a disk that fails may be lost: the cancelling, the publishing, and of a session that ends
    // with its connection the will itself.
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

  /** Its client has been let in again: that ends the delay one way or the other. */
  private returned(clientId: string, from: { sinceMs: number; sessionPresent: boolean }): void {
    const will = this.byClient.get(clientId)
    this.byClient.delete(clientId)
    if (will === undefined || will.state === 'cancelled' || will.state === 'unsure') return
    if (will.state === 'armed') this.becomesDue(will)
    if (will.dueAtMs <= from.sinceMs) {
      if (will.delayMayBeginAnew) will.state = 'unsure'
      return
    }
    // Between the two moments the order of the return and the time is unknown outside.
    if (will.dueAtMs <= this.stage.nowMs) will.state = 'unsure'
    else if (from.sessionPresent) this.cancel(will)
    else will.dueAtMs = from.sinceMs // [MQTT5-3.1.2.5] The old session has ended, and with it the delay.
  }
}
