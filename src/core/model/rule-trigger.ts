// Events other than publications for which rules run: of a client, a delivery or the node. The core records only events
// that a rule uses.

import type {
  AckProperties,
  ConnectPacket,
  DisconnectProperties,
  QoS,
  ReasonCode,
  SubscribeProperties,
  UnsubscribeProperties,
} from '../../protocol/index.ts'
import type { Connection } from './connection.ts'
import type { Identity } from '../messages/identity.ts'
import type { Message } from '../messages/message.ts'
import type { DropReason } from './drop-reason.ts'

export const ruleTriggerKinds = [
  'client-connected',
  'client-connack',
  'client-disconnected',
  'authentication',
  'authorization',
  'session-subscribed',
  'session-unsubscribed',
  'message-delivered',
  'message-acked',
  'message-dropped',
  'delivery-dropped',
  'alarm-activated',
  'alarm-deactivated',
] as const

export type RuleTriggerKind = (typeof ruleTriggerKinds)[number]

/** The client at the time of the event. */
interface ClientTrigger {
  readonly atMs: number
  /** Name of its session. */
  readonly clientId: string
  readonly username: string | undefined
  /** Undefined if the client is not connected. */
  readonly connection: Connection | undefined
}

/** CONNECT was accepted or refused. */
export interface ConnectTrigger extends ClientTrigger {
  readonly kind: 'client-connected' | 'client-connack'
  readonly connection: Connection
  readonly reason: ReasonCode
  /** Undefined if the client was refused before its CONNECT was decoded. */
  readonly connect: ConnectPacket | undefined
  /** The keep alive in use, which may differ from that of CONNECT. */
  readonly keepAliveSeconds: number | undefined
  readonly expirySeconds: number | undefined
}

export interface DisconnectTrigger extends ClientTrigger {
  readonly kind: 'client-disconnected'
  readonly connection: Connection
  readonly reason: ReasonCode
  /** Details that the reason code does not contain; undefined if there are none. */
  readonly cause: 'discarded' | 'lost' | undefined
  readonly properties: DisconnectProperties | undefined
  readonly connectedAtMs: number | undefined
}

export interface AuthenticationTrigger extends ClientTrigger {
  readonly kind: 'authentication'
  readonly connection: Connection
  readonly reason: ReasonCode
  /** Undefined if the client was refused. */
  readonly identity: Identity | undefined
}

export interface AuthorizationTrigger extends ClientTrigger {
  readonly kind: 'authorization'
  readonly identity: Identity
  readonly action: 'publish' | 'subscribe'
  /** Topic or topic filter as the client sent it, without its mount point. */
  readonly topic: string
  readonly isAllowed: boolean
}

export interface SubscriptionTrigger extends ClientTrigger {
  readonly kind: 'session-subscribed' | 'session-unsubscribed'
  readonly filter: string
  readonly qos: QoS
  readonly properties: SubscribeProperties | UnsubscribeProperties | undefined
}

/** A message and the client to which it was delivered or not. */
export interface DeliveryTrigger extends ClientTrigger {
  readonly kind: 'message-delivered' | 'message-acked' | 'delivery-dropped'
  readonly message: Message
  /** QoS of the delivery. */
  readonly qos: QoS
  readonly retain: boolean
  /** Properties of the acknowledgement. */
  readonly properties: AckProperties | undefined
  /** Undefined if it was not dropped. */
  readonly reason: DropReason | 'no-local' | 'not-connected' | undefined
}

/** A message that no client received. */
export interface MessageDroppedTrigger {
  readonly kind: 'message-dropped'
  readonly atMs: number
  readonly message: Message
  readonly reason: DropReason | 'no-subscribers' | 'receive-maximum-exceeded' | 'packet-identifier-in-use'
}

export interface AlarmTrigger {
  readonly kind: 'alarm-activated' | 'alarm-deactivated'
  readonly atMs: number
  readonly name: string
  readonly message: string
  readonly activatedAtMs: number
  /** Undefined while the alarm is active. */
  readonly deactivatedAtMs: number | undefined
  readonly occurrences: number
}

export type RuleTrigger =
  | ConnectTrigger
  | DisconnectTrigger
  | AuthenticationTrigger
  | AuthorizationTrigger
  | SubscriptionTrigger
  | DeliveryTrigger
  | MessageDroppedTrigger
  | AlarmTrigger

/** Returns the message that a trigger refers to, whose bytes may belong to a chunk that is reused. */
export function findTriggerMessage(trigger: RuleTrigger): Message | undefined {
  return 'message' in trigger && typeof trigger.message !== 'string' ? trigger.message : undefined
}
