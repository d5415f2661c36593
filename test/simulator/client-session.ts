// What a client knows of itself and remembers beyond a connection: the messages that it has published, those that
// reached it, its subscriptions with the moments from which and until which they certainly and possibly held. All of
// it is kept, so that at the end of a scenario one can say what was owed.

import type { PacketId, PublishProperties, QoS, RetainHandling, SubscriptionRequest } from '../../src/protocol/index.ts'

/** A message that a client publishes, and how far it came. Times are steps of the stage unless they say otherwise. */
export class Publication {
  readonly topic: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: PublishProperties | undefined
  readonly publisher: string
  /** By an operator in the name of the publisher, who needs no right for it and has no order with it. */
  isByAdministrator: boolean
  packetId: PacketId
  /** PUBREC has come: PUBREL goes instead of PUBLISH. */
  isReceived: boolean
  timesSent: number
  /** How often it was sent again to a session that may have been another one: there it was a new message. */
  timesBegunAnew: number
  /** To a version of MQTT that has no properties, once at least. */
  lostProperties: boolean
  firstSentStep: number
  lastSentStep: number
  /** The connection of its publisher on which it went last, counted from 1. */
  connection: number
  firstSentAtMs: number
  /** The broker has taken it over (PUBACK, PUBREC); Infinity: it has not. */
  acknowledgedStep: number
  acknowledgedAtMs: number
  /** Of PUBACK or PUBREC. Undefined until it has come. */
  reasonCode: number | undefined
  reasonString: string | undefined
  /** Nothing is left to say about it: PUBACK, PUBCOMP or a refusal has come, or it was QoS 0. */
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

  /** The broker has said that it has it. */
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

/** A message as it reached the client. */
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
  /** Which of the client's sessions and connections it came to, counted from 1. */
  readonly session: number
  readonly connection: number
  /** QoS 2 sent again before it was released: not given to the application a second time. */
  readonly isRepeat: boolean
  /** It came with properties, if it had any. */
  readonly isModern: boolean
}

export interface SubscribeOptions {
  qos?: QoS
  noLocal?: boolean
  retainAsPublished?: boolean
  retainHandling?: RetainHandling
  identifier?: number
}

/** One subscription with the steps between which it held. */
export interface HeldSubscription {
  readonly request: SubscriptionRequest
  readonly identifier: number | undefined
  readonly sentStep: number
  /** SUBACK granted it; Infinity: not yet. */
  grantedStep: number
  grantedQoS: QoS
  isRefused: boolean
  /** UNSUBSCRIBE, or a SUBSCRIBE that replaces it, was sent. */
  endSentStep: number
  endedStep: number
}

/** A subscription that was just asked for. */
export function asked(request: SubscriptionRequest, identifier: number | undefined, step: number): HeldSubscription {
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

/** Of one session there is the exclusive subscription or the common one. */
export function isSameFilter(one: string, other: string): boolean {
  return one.replace('$exclusive/', '') === other.replace('$exclusive/', '')
}

/** `awayMs`: it may have been without its client for so long, which may be longer than since that saw itself connected. */
interface FoundAgain {
  readonly step: number
  readonly nowMs: number
  readonly lastSeenMs: number
  readonly awayMs: number
  readonly saysSo: boolean
}

export class ClientSession {
  /** Counted from 1. */
  readonly number: number
  readonly startedStep: number
  readonly subscriptions: HeldSubscription[]
  /** By packet id, in the order of sending. */
  readonly outgoing: Map<PacketId, Publication>
  /** QoS 2 packet ids that the broker has not released. */
  readonly incoming: Set<PacketId>
  /** It was to outlive a connection once: what waits for it is on the broker's disk. */
  readonly isStored: boolean
  /** 0: it ends with its connection. */
  expirySeconds: number
  /** Infinity while it lives, or while its end cannot be known. */
  endedStep: number
  /** Something happened after which the broker may rightly have forgotten it. */
  mayBeGone: boolean
  /** QoS 2 packet ids as above, of which a session that has taken the place of this one knows nothing. */
  readonly doubtful: Set<PacketId>
  /** Between these times its expiry had passed: it was perhaps over, though the broker had it still when its client came again. */
  readonly lapses: { readonly fromMs: number; readonly untilStep: number }[]
  /** CONNECTs for it that were not answered, and the step of the first. */
  private unanswered: number
  private askedStep: number

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
    this.lapses = []
    this.unanswered = 0
    this.askedStep = Infinity
  }

  /** CONNECT goes to it after so long: the broker may have ended it, and begins another one then. */
  askedFor(step: number, awayMs: number): void {
    if (awayMs >= this.expirySeconds * 1_000) this.mayBeGone = true
    this.unanswered++
    this.askedStep = Math.min(this.askedStep, step)
  }

  /** The CONNECT was answered with no: it has begun nothing. */
  refused(): void {
    this.unanswered--
  }

  /**
   * The broker says that a session is present. It is this one, unless this one had ended when an earlier CONNECT arrived whose CONNACK was
   * lost (with the broker, or with the connection): that CONNECT has started another session, which has nothing of this one, and a client
   * cannot tell the two apart [MQTT-3.2.2-2]. `saysSo`: the CONNACK has session present.
   */
  foundAgain({ step, nowMs, lastSeenMs, awayMs, saysSo }: FoundAgain): void {
    const expiryMs = this.expirySeconds * 1_000
    const wasPerhapsOver = this.mayBeGone || awayMs >= expiryMs
    if (nowMs - lastSeenMs >= expiryMs) this.lapses.push({ fromMs: lastSeenMs + expiryMs, untilStep: step })
    if (wasPerhapsOver && (this.unanswered > 1 || !saysSo)) this.mayBeAnother()
    this.mayBeGone = false
    this.unanswered = 0
    this.askedStep = Infinity
  }

  /** What was agreed on before holds perhaps; what is agreed on from here on holds in either. */
  private mayBeAnother(): void {
    for (const held of this.subscriptions) held.endSentStep = Math.min(held.endSentStep, this.askedStep)
    for (const packetId of this.incoming) this.doubtful.add(packetId)
    for (const publication of this.outgoing.values()) if (!publication.isReceived) publication.timesBegunAnew++
  }

  /** Its expiry had passed when the broker had taken the message over: it owes this session nothing of it [MQTT5-3.1.2.11.2]. */
  hadLapsed({ firstSentStep, acknowledgedAtMs }: Publication): boolean {
    return this.lapses.some(({ fromMs, untilStep }) => fromMs <= acknowledgedAtMs && firstSentStep < untilStep)
  }

  /** It has said so when it left. A broker that dies just then has perhaps not heard it. */
  willExpireAfter(seconds: number): void {
    if (seconds === 0) this.mayBeGone = true
    else this.expirySeconds = Math.min(this.expirySeconds, seconds)
  }
}
