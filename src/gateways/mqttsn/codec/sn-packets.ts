// Packets of MQTT-SN 1.2 [chapter 5].

export const packetTypes = {
  advertise: 0x00,
  searchgw: 0x01,
  gwinfo: 0x02,
  connect: 0x04,
  connack: 0x05,
  willtopicreq: 0x06,
  willtopic: 0x07,
  willmsgreq: 0x08,
  willmsg: 0x09,
  register: 0x0a,
  regack: 0x0b,
  publish: 0x0c,
  puback: 0x0d,
  pubcomp: 0x0e,
  pubrec: 0x0f,
  pubrel: 0x10,
  subscribe: 0x12,
  suback: 0x13,
  unsubscribe: 0x14,
  unsuback: 0x15,
  pingreq: 0x16,
  pingresp: 0x17,
  disconnect: 0x18,
  willtopicupd: 0x1a,
  willtopicresp: 0x1b,
  willmsgupd: 0x1c,
  willmsgresp: 0x1d,
  forward: 0xfe,
} as const

/** [5.3.10] */
export const returnCodes = { accepted: 0, congestion: 1, invalidTopicId: 2, notSupported: 3 } as const
export type SnReturnCode = (typeof returnCodes)[keyof typeof returnCodes]

/** [5.3.4] `none` is QoS -1: without a connection. */
export type SnQoS = 0 | 1 | 2 | -1

/** [5.3.4] Kinds of topic IDs and names. */
export const topicKinds = { name: 0, predefined: 1, short: 2 } as const
export type TopicKind = 0 | 1 | 2 | 3

export interface SnFlags {
  readonly dup: boolean
  readonly qos: SnQoS
  readonly retain: boolean
  readonly will: boolean
  readonly cleanSession: boolean
  readonly topicKind: TopicKind
}

/** Options of SUBSCRIBE in version 2.0. */
export interface SubscriptionOptions {
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  readonly retainHandling: 0 | 1 | 2
}

/**
 * The wireless node behind a forwarder, with a character for each byte. A buffer of four bytes needs ten times the memory, and would keep
 * the datagram in memory.
 */
export type WirelessNode = string & { readonly brand: 'wireless-node' }

/** Fields of CONNECT that version 2.0 has in addition to 1.2. */
export interface ConnectOptions {
  readonly messageId: number
  readonly startsClean: boolean
  readonly sessionExpirySeconds: number
  /** 0: no limit. */
  readonly maxPacketBytes: number
  /** `topic`: a name, or a predefined ID; `message` in base64. */
  readonly will: { readonly topic: string | number; readonly flags: SnFlags; readonly message: string } | undefined
  readonly username?: string
  /** base64 */
  readonly password?: string
  /** The reason code of its refusal. */
  readonly problem?: number
}

/** `topic`: a name, also a short one; `topicId`: if the flags have that type. */
export interface SnSubscription {
  readonly flags: SnFlags
  readonly messageId: number
  readonly topic: string
  readonly topicId: number
  /** 2.0: `topicId` is of the session. */
  readonly isAlias?: boolean
  readonly options?: SubscriptionOptions
}

/** Packets that a gateway receives. `bytes` fields share the memory of the datagram. */
export type SnRequest =
  | { readonly type: 'searchgw'; readonly radius: number }
  | {
      readonly type: 'connect'
      readonly flags: SnFlags
      readonly protocolId: number
      readonly durationSeconds: number
      readonly clientId: string
      /** Undefined in 1.2. */
      readonly options?: ConnectOptions
    }
  /** `topic` undefined: no will. */
  | { readonly type: 'willtopic'; readonly flags: SnFlags; readonly topic: string | undefined }
  | { readonly type: 'willmsg'; readonly message: Buffer }
  | { readonly type: 'willtopicupd'; readonly flags: SnFlags; readonly topic: string | undefined }
  | { readonly type: 'willmsgupd'; readonly message: Buffer }
  | { readonly type: 'register'; readonly messageId: number; readonly topic: string }
  | {
      readonly type: 'regack'
      readonly topicId: number
      readonly messageId: number
      readonly returnCode: number
    }
  | {
      readonly type: 'publish'
      readonly flags: SnFlags
      readonly topicId: number
      readonly messageId: number
      readonly payload: Buffer
      /** 2.0: instead of an ID. */
      readonly topic?: string
    }
  | {
      readonly type: 'puback'
      readonly topicId: number
      readonly messageId: number
      readonly returnCode: number
    }
  | { readonly type: 'pubrec' | 'pubrel' | 'pubcomp'; readonly messageId: number }
  | (SnSubscription & { readonly type: 'subscribe' })
  | (SnSubscription & { readonly type: 'unsubscribe' })
  | { readonly type: 'pingreq'; readonly clientId: string | undefined; readonly messageId?: number }
  | { readonly type: 'pingresp' }
  /** `durationSeconds` undefined: it does not sleep. */
  | {
      readonly type: 'disconnect'
      readonly durationSeconds: number | undefined
      readonly messageId?: number
      /** 2.0: while it sleeps. */
      readonly forgetsTopicIds?: boolean
      /** 2.0: the will is published. */
      readonly hasFailed?: boolean
      readonly sessionExpirySeconds?: number | undefined
    }

/** A name of two bytes as a topic ID [5.3.11]. */
export function toShortTopicId(name: string): number | undefined {
  const bytes = Buffer.from(name)
  return bytes.length === 2 ? bytes.readUInt16BE(0) : undefined
}

/** Undefined if the bytes are not text. */
export function toShortTopicName(topicId: number): string | undefined {
  const bytes = Buffer.of(topicId >> 8, topicId & 0xff)
  const name = bytes.toString('utf8')
  return name.includes('\ufffd') || name.includes('\0') ? undefined : name
}
