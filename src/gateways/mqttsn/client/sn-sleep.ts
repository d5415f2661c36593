// The sleep of one MQTT-SN client [6.14]. While it is awake, it gets its messages, and PINGRESP after the last one:
//
//   active ──DISCONNECT(s)──> asleep ──PINGREQ──> awake ──> messages ──> PINGRESP ──> asleep
//
// The sleep of a client with a persistent session is stored across restarts.

import type { MqttConnection } from '../../gateway.ts'
import type { ClientClock } from './client-clock.ts'
import type { SnRequest } from '../codec/sn-packets.ts'
import type { ConnectRequest, SnClientDependencies, SnClientState } from '../model/sn-client-dependencies.ts'
import type { SnMessages } from './sn-messages.ts'
import type { SnWill } from './sn-will.ts'
import { StaleSleepDetector } from './stale-sleep.ts'

/** The client that sleeps. */
interface SleepingClient {
  state: SnClientState
  readonly connect: ConnectRequest
  readonly will: SnWill | undefined
  readonly mqtt: MqttConnection | undefined
  readonly messages: SnMessages
  readonly clock: ClientClock
  readonly isCleanSession: boolean
}

export class SnSleep {
  readonly #dependencies: SnClientDependencies
  readonly #client: SleepingClient
  /** PINGREQ was sent to the broker: before its PINGRESP, it sends the messages of the queue. */
  #isAwaitingQueueEnd = false
  #isStored: boolean
  #staleSleep: StaleSleepDetector | undefined

  /** `isStored`: the client has slept since before the restart. */
  constructor(dependencies: SnClientDependencies, client: SleepingClient, isStored: boolean) {
    this.#dependencies = dependencies
    this.#client = client
    this.#isStored = isStored
  }

  /** Handles DISCONNECT with a duration. */
  fallAsleep(): void {
    const client = this.#client
    client.state = 'asleep'
    client.mqtt?.reportClientChange()
    client.messages.pause()
    this.#expectPacket()
    this.#store()
    const respond = (): void => this.#send(this.#dependencies.codec.sleepResponse())
    if (client.isCleanSession) respond()
    else this.#dependencies.runWhenDurable(respond)
    this.#dependencies.schedule()
  }

  /** Handles PINGREQ with the client ID. */
  wakeForMessages(): void {
    this.#client.state = 'awake'
    this.#expectPacket()
    this.#store() // The port of the client may have changed.
    this.#client.messages.resume()
    this.requestQueueEnd()
    this.#dependencies.schedule()
  }

  /** Sends PINGREQ to the broker if nothing is left to deliver. The broker sends queued messages before its PINGRESP. */
  requestQueueEnd(): void {
    const { state, messages, mqtt } = this.#client
    if (state !== 'awake' || !messages.isDelivered || this.#isAwaitingQueueEnd) return
    this.#isAwaitingQueueEnd = true
    mqtt?.send({ type: 'pingreq' })
  }

  /** The broker has sent a message, or its connection was replaced: the PINGRESP of an earlier PINGREQ is not the end of the queue. */
  cancelQueueEnd(): void {
    this.#isAwaitingQueueEnd = false
  }

  /** Handles PINGRESP of the broker. */
  handleQueueEnd(): void {
    if (!this.#isAwaitingQueueEnd) return
    this.#isAwaitingQueueEnd = false
    const { state, messages } = this.#client
    if (state !== 'awake' || !messages.isDelivered) return
    this.#send(this.#dependencies.codec.pingresp())
    this.#expectPacket()
    this.continue()
  }

  /** Ends an awake period, also if the client did not respond: its PINGREQ may have been a late copy. */
  continue(): void {
    this.#client.state = 'asleep'
    this.#isAwaitingQueueEnd = false
    this.#client.messages.pause()
    this.#store()
    this.#dependencies.schedule()
  }

  /** Handles a packet that a sleeping client does not send. */
  handleUnexpected(request: SnRequest): void {
    const detector = (this.#staleSleep ??= new StaleSleepDetector())
    const isStale = detector.shouldDisconnect(request, this.#dependencies.nowMs())
    if (isStale) this.#send(this.#dependencies.codec.disconnect())
  }

  /** Deletes the stored sleep: the client is active, or has ended. */
  deleteStored(): void {
    if (this.#isStored) this.#dependencies.storeSleep(undefined)
    this.#isStored = false
  }

  #store(): void {
    const { connect, clock, will, isCleanSession } = this.#client
    if (isCleanSession) return
    this.#isStored = true
    const lostAtMs = clock.lostAtMs === Infinity ? null : clock.lostAtMs
    this.#dependencies.storeSleep({ connect, lostAtMs, will: will?.stored })
  }

  #expectPacket(): void {
    const { clock, connect } = this.#client
    clock.expectPacketWithin(connect.durationSeconds, this.#dependencies.nowMs())
  }

  #send(bytes: Buffer | undefined): void {
    if (bytes !== undefined) this.#dependencies.send(bytes)
  }
}
