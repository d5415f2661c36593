// The session as the client knows it, also between connections: published and received messages, and subscriptions with the steps
// between which they certainly and possibly applied. Everything is kept, so that the oracles can determine at the end which
// messages had to arrive.

import type { PacketId, PublishProperties, QoS, RetainHandling, SubscriptionRequest } from '../../src/protocol/index.ts'

/** A published message and its progress. Times are steps of the stage unless stated otherwise. */
export class Publication {
  readonly topic: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: PublishProperties | undefined
  readonly publisher: string
  /** Published by an administrator for the publisher: it needs no permission and has no order among the publisher's messages. */
  isByAdministrator: boolean
  packetId: PacketId
  /** PUBREC has arrived: PUBREL is sent instead of PUBLISH. */
  isReceived: boolean
  timesSent: number
  /** How often it was sent again to what may be another session, where it is a new message. */
  timesBegunAnew: number
  /** It was sent at least once with a version of MQTT that has no properties. */
  lostProperties: boolean
  firstSentStep: number
  lastSentStep: number
  /** The connection of the publisher on which it was sent last, counted from 1. */
  connection: number
  firstSentAtMs: number
  /** The step of the acknowledgement (PUBACK, PUBREC); Infinity: none has arrived. */
  acknowledgedStep: number
  acknowledgedAtMs: number
  /** Of PUBACK or PUBREC. Undefined until one arrives. */
  reasonCode: number | undefined
  reasonString: string | undefined
  /** The exchange is complete: PUBACK, PUBCOMP or an error arrived, or the QoS is 0. */
  isComplete: boolean

  constructor(publisher: string, what: { topic: string; payload: string | Buffer } & PublishOptions) {
    this.publisher = publisher
    this.topic = what.topic
    this.payload = typeof what.payload === 'string' ? Buffer.from(what.payload) : what.payload
    this.qos = what.qos ?? 0
    this.retain = what.retain ?? false
    this.properties = what.properties
    this.isByAdministrator = false
    this.packetId = 0
    this.isReceived = false
    this.timesSent = 0
    this.timesBegunAnew = 0
    this.lostProperties = false
    this.firstSentStep = Infinity
    this.lastSentStep = Infinity
    this.connection = 0
    this.firstSentAtMs = Infinity
    this.acknowledgedStep = Infinity
    this.acknowledgedAtMs = Infinity
    this.reasonCode = undefined
    this.reasonString = undefined
    this.isComplete = false
  }

  /** The broker has acknowledged the message. */
  get isAcknowledged(): boolean {
    return this.acknowledgedStep !== Infinity && (this.reasonCode ?? 0) < 0x80
  }
}

export interface PublishOptions {
  qos?: QoS
  retain?: boolean
  properties?: PublishProperties
}

export interface WhatToPublish extends PublishOptions {
  topic: string
  payload: string | Buffer
}

/** A message as the client received it. */
export interface ReceivedMessage {
  readonly topic: string
  readonly payload: string
  readonly bytes: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly dup: boolean
  readonly packetId: PacketId
  readonly properties: PublishProperties | undefined
  readonly atMs: number
  readonly step: number
  /** The session and the connection that received it, counted from 1. */
  readonly session: number
  readonly connection: number
  /** A QoS 2 message that was sent again before its release: the application does not receive it twice. */
  readonly isRepeat: boolean
  /** The connection supports properties. */
  readonly isModern: boolean
}

export interface SubscribeOptions {
  qos?: QoS
  noLocal?: boolean
  retainAsPublished?: boolean
  retainHandling?: RetainHandling
  identifier?: number
}

/** One subscription with the steps between which it applied. */
export interface HeldSubscription {
  readonly request: SubscriptionRequest
  readonly identifier: number | undefined
  readonly sentStep: number
  /** The step of a successful SUBACK; Infinity: none yet. */
  grantedStep: number
  grantedQoS: QoS
  isRefused: boolean
  /** The step of an UNSUBSCRIBE, or of a SUBSCRIBE that replaces it. */
  endSentStep: number
  endedStep: number
}

/** Returns a requested subscription without a SUBACK. */
export function requestedSubscription(
  request: SubscriptionRequest,
  identifier: number | undefined,
  step: number,
): HeldSubscription {
  return {
    request,
    identifier,
    sentStep: step,
    grantedStep: Infinity,
    grantedQoS: 0,
    isRefused: false,
    endSentStep: Infinity,
    endedStep: Infinity,
  }
}

/** A session has either the exclusive or the ordinary subscription to a filter. */
export function isSameFilter(one: string, other: string): boolean {
  return one.replace('$exclusive/', '') === other.replace('$exclusive/', '')
}

/** `awayMs`: maximum time without a client, which may be longer than the time since the client saw itself connected. */
interface Resumption {
  readonly step: number
  readonly nowMs: number
  readonly lastSeenMs: number
  readonly awayMs: number
  readonly hasFlag: boolean
}

export class ClientSession {
  /** Counted from 1. */
  readonly number: number
  readonly startedStep: number
  readonly subscriptions: HeldSubscription[]
  /** By packet identifier, in the order of sending. */
  readonly outgoing: Map<PacketId, Publication>
  /** QoS 2 packet identifiers that the broker has not released. */
  readonly incoming: Set<PacketId>
  /** The session was persistent at least once: its queue is on the broker's disk. */
  readonly isStored: boolean
  /** 0: the session ends with its connection. */
  expirySeconds: number
  /** Infinity if the session exists, or if its end cannot be known. */
  endedStep: number
  /** The broker may have ended the session for a valid reason. */
  mayBeGone: boolean
  /** QoS 2 packet identifiers that a session which replaced this one does not know. */
  readonly doubtful: Set<PacketId>
  /** Times in which the session may have expired, although the broker still had it when the client returned. */
  readonly expiredTimes: { readonly fromMs: number; readonly untilStep: number }[]
  /** Number of CONNECT packets without a response, and the step of the first. */
  private pendingConnects: number
  private connectStep: number

  constructor(from: { number: number; step: number; expirySeconds: number }) {
    this.number = from.number
    this.startedStep = from.step
    this.expirySeconds = from.expirySeconds
    this.isStored = from.expirySeconds > 0
    this.subscriptions = []
    this.outgoing = new Map()
    this.incoming = new Set()
    this.endedStep = Infinity
    this.mayBeGone = false
    this.doubtful = new Set()
    this.expiredTimes = []
    this.pendingConnects = 0
    this.connectStep = Infinity
  }

  /** Called when CONNECT is sent after `awayMs`: the broker may have ended the session, and then creates another. */
  noteConnect(step: number, awayMs: number): void {
    if (awayMs >= this.expirySeconds * 1_000) this.mayBeGone = true
    this.pendingConnects++
    this.connectStep = Math.min(this.connectStep, step)
  }

  /** The CONNECT was refused, so it created no session. */
  refused(): void {
    this.pendingConnects--
  }

  /**
   * The broker reports a session as present. It is this one, unless this one had ended when an earlier CONNECT arrived whose CONNACK was
   * lost with the broker or the connection. Then that CONNECT created another session without the state of this one, and a client cannot
   * distinguish them [MQTT-3.2.2-2]. `hasFlag`: the CONNACK has the flag session present.
   */
  resumed({ step, nowMs, lastSeenMs, awayMs, hasFlag }: Resumption): void {
    const expiryMs = this.expirySeconds * 1_000
    const wasPerhapsOver = this.mayBeGone || awayMs >= expiryMs
    if (nowMs - lastSeenMs >= expiryMs) this.expiredTimes.push({ fromMs: lastSeenMs + expiryMs, untilStep: step })
    if (wasPerhapsOver && (this.pendingConnects > 1 || !hasFlag)) this.mayBeAnother()
    this.mayBeGone = false
    this.pendingConnects = 0
    this.connectStep = Infinity
  }

  /** Earlier subscriptions apply perhaps; later ones apply in either session. */
  private mayBeAnother(): void {
    for (const held of this.subscriptions) held.endSentStep = Math.min(held.endSentStep, this.connectStep)
    for (const packetId of this.incoming) this.doubtful.add(packetId)
    for (const publication of this.outgoing.values()) if (!publication.isReceived) publication.timesBegunAnew++
  }

  /** [MQTT5-3.1.2.11.2] The session was expired when the broker accepted the message, so the message need not arrive. */
  hadExpired({ firstSentStep, acknowledgedAtMs }: Publication): boolean {
    return this.expiredTimes.some(({ fromMs, untilStep }) => fromMs <= acknowledgedAtMs && firstSentStep < untilStep)
  }

  /** The client set the expiry in DISCONNECT. If the broker crashes at that time, it may not know. */
  willExpireAfter(seconds: number): void {
    if (seconds === 0) this.mayBeGone = true
    else this.expirySeconds = Math.min(this.expirySeconds, seconds)
  }
}
