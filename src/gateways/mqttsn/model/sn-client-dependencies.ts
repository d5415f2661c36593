// Dependencies of one MQTT-SN client.

import type { TopicTable } from '../../../protocol/index.ts'
import type { GatewayCounters, MqttConnection, MqttConnectionCallbacks } from '../../gateway.ts'
import type { StoredMessage, StoredMessages } from './stored-messages.ts'
import type { StoredSleep } from './stored-sessions.ts'
import type { SnRequest } from '../codec/sn-packets.ts'
import type { SnCodec } from '../codec/sn-codec.ts'
import type { MqttSnSettings } from './mqttsn-settings.ts'
import type { TopicIds } from './topic-ids.ts'

export type SnClientState = 'will-topic' | 'will-message' | 'connecting' | 'active' | 'asleep' | 'awake' | 'ended'
export type ConnectRequest = SnRequest & { type: 'connect' }

export interface SnClientDependencies {
  readonly settings: MqttSnSettings
  /** Codec of the version of the client. */
  readonly codec: SnCodec
  readonly counters: GatewayCounters
  /** Topics of all clients. */
  readonly topics: TopicTable
  nowMs(): number
  /** Sends a response. */
  send(bytes: Buffer): void
  /** Sends something that the client did not ask for in its last packet. Returns false if its address must prove itself first. */
  sendUnasked(bytes: Buffer): boolean
  /** Reserves what later PINGREQ packets need. Returns false if the address must send more, or prove itself, first. */
  reserveUnasked(pings: number): boolean
  /** Ends the reservation for packets that are not sent. */
  releaseUnasked(pings: number): void
  /** Sends a packet for which bytes are reserved. */
  sendReserved(bytes: Buffer): void
  readonly isProven: boolean
  /** The client has responded with something that only a receiver knows. */
  recordProof(): void
  /** Returns an unpredictable integer from 0 up to `limit`. */
  randomBelow(limit: number): number
  /** `isRestored`: if the broker refuses the connection for the time being, it is opened again later. */
  openMqtt(client: MqttConnectionCallbacks, isRestored: boolean): MqttConnection
  /** Called when `dueAtMs` of the client has changed. */
  schedule(): void
  /** Stores the sleep across restarts; undefined: it does not sleep. */
  storeSleep(sleep: Pick<StoredSleep, 'connect' | 'lostAtMs' | 'will'> | undefined): void
  runWhenDurable(done: () => void): void
  /** Stores messages of QoS 0 that wait while it sleeps. */
  readonly messages: StoredMessages
  /** Called when the session or the connection of the client has ended. */
  deleteMessages(): void
  /** Called when the broker has accepted the client. */
  onConnected(): void
  /** Called when the session with these topic IDs has ended. */
  deleteTopicIds(topicIds: TopicIds): void
  /** Called when the client has ended. */
  onEnded(): void
}

/** What sends packets that the client did not ask for, and repeats them. */
export type SendingDependencies = Pick<
  SnClientDependencies,
  | 'settings'
  | 'codec'
  | 'counters'
  | 'nowMs'
  | 'sendUnasked'
  | 'reserveUnasked'
  | 'releaseUnasked'
  | 'sendReserved'
  | 'isProven'
  | 'recordProof'
  | 'randomBelow'
>

/** Stored state of a sleeping client. */
export interface RestoredSleep extends Pick<StoredSleep, 'lostAtMs' | 'will'> {
  readonly topicIds: TopicIds | undefined
  readonly messages: ReadonlyMap<number, StoredMessage>
}
