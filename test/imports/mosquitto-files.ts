// Builds mosquitto databases in formats 2 to 6 from the description of the formats, because Debian has no mosquitto version that
// writes formats 2 to 5.

const uint8 = (value: number): Buffer => Buffer.from([value])
const uint16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff])

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Little-endian, because mosquitto writes this field from memory without conversion. */
function raw64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64LE(BigInt(value))
  return bytes
}

const sized = (text: string): Buffer => Buffer.concat([uint16(Buffer.byteLength(text)), Buffer.from(text)])

export interface StoredMessage {
  readonly id: number
  readonly topic: string
  readonly payload: string
  readonly qos?: number
  readonly retain?: boolean
  readonly publisher?: string
  readonly username?: string
  readonly expiresAtSeconds?: number
}

export interface QueuedMessage {
  readonly clientId: string
  readonly id: number
  readonly packetId?: number
  readonly qos?: number
  readonly state?: number
  readonly isDup?: boolean
  /** Whether the client published the message. */
  readonly isIncoming?: boolean
  readonly identifiers?: readonly number[]
}

export interface StoredClient {
  readonly clientId: string
  readonly username?: string
  readonly port?: number
  readonly expirySeconds?: number
  readonly expiresAtSeconds?: number
  readonly disconnectedAtSeconds?: number
}

export interface StoredSubscription {
  readonly clientId: string
  readonly filter: string
  readonly qos?: number
  readonly options?: number
  readonly identifier?: number
}

export interface DatabaseContent {
  readonly messages?: readonly StoredMessage[]
  readonly clients?: readonly StoredClient[]
  readonly queued?: readonly QueuedMessage[]
  readonly subscriptions?: readonly StoredSubscription[]
  readonly retained?: readonly number[]
}

export function databaseOf(format: number, written: DatabaseContent): Buffer {
  const { messages = [], clients = [], queued = [], subscriptions = [], retained = [] } = written
  const isOld = format < 5
  const chunk = (type: number, ...fields: Buffer[]): Buffer => {
    const content = Buffer.concat(fields)
    return Buffer.concat([isOld ? uint16(type) : uint32(type), uint32(content.length), content])
  }
  const settings = isOld
    ? chunk(1, uint8(1), uint8(8), raw64(9))
    : chunk(1, raw64(9), uint8(1), uint8(8), Buffer.alloc(6))
  return Buffer.concat([
    Buffer.from('\0\u00b5\0mosquitto db', 'latin1'),
    uint32(0),
    uint32(format),
    settings,
    ...messages.map((message) => (isOld ? chunk(2, ...oldMessage(format, message)) : chunk(2, ...newMessage(message)))),
    ...clients.map((client) =>
      isOld ? chunk(6, ...oldClient(format, client)) : chunk(6, ...newClient(format, client)),
    ),
    ...queued.map((one) => (isOld ? chunk(3, ...oldQueued(one)) : chunk(3, ...newQueued(one)))),
    ...subscriptions.map((one) => (isOld ? chunk(5, ...oldSubscription(one)) : chunk(5, ...newSubscription(one)))),
    ...retained.map((id) => chunk(4, raw64(id))),
  ])
}

function oldMessage(format: number, message: StoredMessage): Buffer[] {
  const { id, topic, payload, qos = 1, retain = false, publisher = 'p', username = '' } = message
  const named = format === 4 ? [sized(username), uint16(1_883)] : []
  const head = [raw64(id), sized(publisher), ...named, uint16(7), uint16(0), sized(topic)]
  return [...head, uint8(qos), uint8(Number(retain)), uint32(Buffer.byteLength(payload)), Buffer.from(payload)]
}

function newMessage(message: StoredMessage): Buffer[] {
  const { id, topic, payload, qos = 1, retain = false, publisher = 'p', username = '', expiresAtSeconds = 0 } = message
  const lengths = [publisher, username, topic].map((text) => uint16(Buffer.byteLength(text)))
  const head = [
    raw64(id),
    raw64(expiresAtSeconds),
    uint32(Buffer.byteLength(payload)),
    uint16(7),
    ...lengths,
    uint16(0),
  ]
  return [
    ...head,
    uint8(qos),
    uint8(Number(retain)),
    ...[publisher, username, topic, payload].map((text) => Buffer.from(text)),
  ]
}

function oldClient(format: number, { clientId, disconnectedAtSeconds = 0 }: StoredClient): Buffer[] {
  return [sized(clientId), uint16(3), ...(format === 2 ? [] : [raw64(disconnectedAtSeconds)])]
}

function newClient(format: number, client: StoredClient): Buffer[] {
  const { clientId, username = '', port = 0, expirySeconds = 0xffffffff, expiresAtSeconds = 0 } = client
  const head = [raw64(expiresAtSeconds), uint32(expirySeconds), uint16(3), uint16(Buffer.byteLength(clientId))]
  if (format === 5) return [...head, Buffer.from(clientId)]
  const tail = [uint16(port), uint16(Buffer.byteLength(username)), Buffer.alloc(4)]
  return [...head, ...tail, Buffer.from(clientId), Buffer.from(username)]
}

function oldQueued({ clientId, id, packetId = 0, qos = 1, state = 11, isDup, isIncoming }: QueuedMessage): Buffer[] {
  const fields = [qos, 0, isIncoming === true ? 0 : 1, state, isDup === true ? 1 : 0]
  return [sized(clientId), raw64(id), uint16(packetId), Buffer.from(fields)]
}

function newQueued(queued: QueuedMessage): Buffer[] {
  const { clientId, id, packetId = 0, qos = 1, state = 11, isDup, isIncoming, identifiers = [] } = queued
  const fields = [qos, state, isDup === true ? 1 : 0, isIncoming === true ? 0 : 1]
  const properties = identifiers.flatMap((identifier) => [0x0b, identifier])
  const head = [
    raw64(id),
    uint16(packetId),
    uint16(Buffer.byteLength(clientId)),
    Buffer.from(fields),
    Buffer.from(clientId),
  ]
  return identifiers.length === 0 ? head : [...head, uint8(properties.length), Buffer.from(properties)]
}

function oldSubscription({ clientId, filter, qos = 1 }: StoredSubscription): Buffer[] {
  return [sized(clientId), sized(filter), uint8(qos)]
}

function newSubscription({ clientId, filter, qos = 1, options = 0, identifier = 0 }: StoredSubscription): Buffer[] {
  const lengths = [clientId, filter].map((text) => uint16(Buffer.byteLength(text)))
  const texts = [Buffer.from(clientId), Buffer.from(filter)]
  return [uint32(identifier), ...lengths, uint8(qos), uint8(options), Buffer.alloc(2), ...texts]
}
