// One record of each kind, and generators of arbitrary records.

import type { MessageProperties } from '../../src/protocol/index.ts'
import type { AccessRecord, AdminRecord, QueuedRecord, StoredMessage, StoredRecord } from '../../src/records/index.ts'
import { anyCharacter, fc } from '../properties.ts'

export function message(topic: string, payload: string, more: Partial<StoredMessage> = {}): StoredMessage {
  return {
    topic,
    payload: Buffer.from(payload),
    qos: 1,
    retain: false,
    properties: undefined,
    publisher: 'publisher-1',
    publisherUsername: 'user-1',
    isByOwnRight: true,
    publisherMountpoint: 'site-7/',
    isRepeat: false,
    publishedAtMs: 1_700_000_000_000,
    expiresAtMs: undefined,
    ...more,
  }
}

export function queued(
  clientId: string,
  sequence: number,
  payload: string | number = `payload ${sequence}`,
): QueuedRecord {
  return {
    kind: 'queued',
    clientId,
    sequence,
    qos: 1,
    retain: false,
    subscriptionIdentifiers: undefined,
    sharedFilter: undefined,
    message: typeof payload === 'number' ? payload : message('a/topic', payload),
  }
}

export function session(clientId: string, queueHead = 0): StoredRecord {
  return {
    kind: 'session',
    clientId,
    version: 5,
    username: 'somebody',
    isSuperuser: true,
    principal: 'user:somebody',
    mountpoint: 'site-7/',
    createdAtMs: 1_700_000_000_000.25,
    expirySeconds: 0xffff_ffff,
    disconnectedAtMs: 1_700_000_001_000,
    queueHead,
    sentBelow: queueHead,
    receiveMaximum: 65_535,
  }
}

export function subscription(clientId: string, filter: string): StoredRecord {
  return {
    kind: 'subscription',
    clientId,
    filter,
    qos: 2,
    noLocal: true,
    retainAsPublished: false,
    retainHandling: 1,
    identifier: 268_435_455,
  }
}

export const fullProperties: MessageProperties = {
  payloadFormatIndicator: 1,
  messageExpiryIntervalSeconds: 4_294_967_295,
  contentType: 'text/plain',
  responseTopic: 'responses/here',
  correlationData: Buffer.from([0, 255, 1]),
  userProperties: [
    ['name', 'value'],
    ['name', 'värde 🐦'],
  ],
}

const oneOfEachKindOfNode: readonly (AccessRecord | AdminRecord)[] = [
  {
    kind: 'credential',
    by: 'clientid',
    id: 'sensor/7 ü',
    algorithm: 'sha512',
    saltPosition: 'suffix',
    salt: Buffer.from([1, 2, 0, 255]),
    hash: Buffer.alloc(64, 7),
    isSuperuser: true,
    createdAtMs: 1_700_000_000_000,
  },
  {
    kind: 'gateway-user',
    chain: 'coap:udp:default',
    id: 'sensor/8 ü',
    algorithm: 'sha256',
    saltPosition: 'prefix',
    salt: Buffer.from([3, 4]),
    hash: Buffer.alloc(32, 5),
    isSuperuser: false,
    createdAtMs: 1_700_000_000_002,
  },
  {
    kind: 'scram',
    username: 'somebody',
    algorithm: 'SCRAM-SHA-256',
    salt: Buffer.from('salt'),
    iterations: 4_096,
    storedKey: Buffer.alloc(32, 1),
    serverKey: Buffer.alloc(32, 2),
    isSuperuser: false,
    createdAtMs: 1_700_000_000_001,
  },
  { kind: 'psk', identity: 'device 7', key: Buffer.from([0, 1, 2]) },
  {
    kind: 'rule',
    about: 'username',
    who: 'somebody',
    topic: 'a/${clientid}/#',
    action: 'subscribe',
    permit: 'deny',
    createdAtMs: 1_700_000_000_002,
  },
  { kind: 'ban', as: 'peerhost', who: '10.0.0.0/8', reason: 'why not', by: 'user', atMs: 1, untilMs: 2.5 },
  {
    kind: 'account',
    name: 'root ü',
    description: 'looks',
    role: 'viewer',
    namespace: 'plant',
    password: {
      algorithm: 'argon2id',
      memory: 19_456,
      passes: 2,
      lanes: 1,
      salt: Buffer.alloc(16, 1),
      hash: Buffer.alloc(32, 2),
    },
    createdAtMs: 1_700_000_000_003,
    secondFactor: { secret: Buffer.alloc(20, 3), isConfirmed: true, lastStep: 58_000_000 },
  },
  {
    kind: 'api-key',
    id: 'a/b',
    name: 'reports',
    description: '',
    role: 'publisher',
    namespace: undefined,
    isEnabled: false,
    expiresAtMs: 1_700_000_000_004.5,
    secret: { algorithm: 'sha256', memory: 0, passes: 0, lanes: 0, salt: Buffer.of(), hash: Buffer.alloc(32, 3) },
    createdAtMs: 1_700_000_000_005,
  },
  { kind: 'namespace', name: 'plant-7', createdAtMs: 1_700_000_000_006 },
]

/** One record of each kind; those of a session belong to `clientId`. */
export function oneOfEachKind(clientId: string): StoredRecord[] {
  return [
    session(clientId, 3),
    subscription(clientId, `$share/group/${clientId}/+/#`),
    queued(clientId, 3, 'in itself'),
    queued(clientId, 4, 77),
    { ...queued(clientId, 5, 'given'), sharedFilter: '$share/press/#' },
    {
      kind: 'payload',
      id: 77,
      message: message('shared/topic', 'shared', { properties: fullProperties, expiresAtMs: 5 }),
    },
    { kind: 'outgoing', clientId, packetId: 65_535, sequence: 3, stage: 'sent' },
    { kind: 'outgoing', clientId, packetId: 1, sequence: 2, stage: 'received' },
    {
      kind: 'incoming',
      clientId,
      packetId: 12,
      assignments: [{ filter: '$share/press/#', to: 1 }],
      remaining: {
        subscribersOf: [{ shard: 1, of: 3 }],
        doneOn: [{ shard: 0, of: 3 }],
        groups: undefined,
        doneGroups: ['$share/press/#'],
        isDoneHere: true,
      },
      isPartial: true,
    },
    { kind: 'retained', message: message('retained/topic', 'kept', { retain: true, qos: 2 }) },
    { kind: 'will', clientId, message: message('wills/1', 'gone'), delaySeconds: 30, dueAtMs: 1_700_000_031_000 },
    {
      kind: 'forwarded',
      shard: 2,
      publisher: 'm8k3f somebody',
      packetId: 513,
      assignments: [{ filter: '$share/press/#', to: 2 }],
    },
    {
      kind: 'handoff',
      shard: 1,
      name: 'lqzf3k9c.7',
      to: 2,
      filter: '$share/press/#',
      message: message('a/b', 'on its way', { qos: 2 }),
    },
    { kind: 'fact', name: 'node.name', value: 'godwit@127.0.0.1' },
    ...oneOfEachKindOfNode,
  ]
}

const text = fc.string({ unit: anyCharacter, maxLength: 90 })
const time = fc.double({ noNaN: true })
const optionalTime = fc.option(time, { nil: undefined })
const qos = fc.constantFrom(0, 1, 2)
const packetId = fc.integer({ min: 1, max: 65_535 })
const shard = fc.integer({ min: 0, max: 255 })
const assignments = fc.array(fc.record({ filter: text, to: shard }, { noNullPrototype: true }))
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const role = fc.constantFrom('administrator', 'viewer', 'publisher')
const namespace = fc.option(text, { nil: undefined })
const keptPassword = fc.record(
  {
    algorithm: fc.constantFrom('sha256', 'argon2id', 'scrypt'),
    memory: fc.nat(),
    passes: fc.nat(),
    lanes: fc.nat(),
    salt: bytes,
    hash: bytes,
  },
  { noNullPrototype: true },
)
const safeInteger = fc.maxSafeNat()

const properties = fc.record(
  {
    payloadFormatIndicator: fc.constantFrom(0, 1),
    messageExpiryIntervalSeconds: fc.integer({ min: 0, max: 0xffff_ffff }),
    contentType: text,
    responseTopic: text,
    correlationData: bytes,
    userProperties: fc.array(fc.tuple(text, text), { maxLength: 4 }),
  },
  { requiredKeys: [], noNullPrototype: true },
)

const storedMessage: fc.Arbitrary<StoredMessage> = fc.record(
  {
    topic: text,
    payload: bytes,
    qos,
    retain: fc.boolean(),
    properties: fc.option(properties, { nil: undefined }),
    publisher: text,
    publisherUsername: fc.option(text, { nil: undefined }),
    isByOwnRight: fc.boolean(),
    publisherMountpoint: text,
    isRepeat: fc.boolean(),
    publishedAtMs: time,
    expiresAtMs: optionalTime,
  },
  { noNullPrototype: true },
)

/** Valid names in MQTT: without U+0000. */
const name = text.map((written) => written.replaceAll('\0', ''))
const ofNamespace = { namespace: name.filter((written) => written !== '') }

/** Records of every kind with arbitrary content. */
export const anyRecord: fc.Arbitrary<StoredRecord> = fc.oneof(
  recordOf('session', {
    clientId: text,
    version: fc.constantFrom(3, 4, 5),
    username: fc.option(text, { nil: undefined }),
    isSuperuser: fc.boolean(),
    principal: fc.constantFrom(undefined, 'anonymous', 'clientid', 'user:', 'user:anna'),
    mountpoint: text,
    createdAtMs: time,
    expirySeconds: fc.integer({ min: 0, max: 0xffff_ffff }),
    disconnectedAtMs: optionalTime,
    queueHead: safeInteger,
    sentBelow: safeInteger,
    receiveMaximum: packetId,
  }),
  recordOf('subscription', {
    clientId: text,
    filter: text,
    qos,
    noLocal: fc.boolean(),
    retainAsPublished: fc.boolean(),
    retainHandling: qos,
    identifier: fc.option(fc.integer({ min: 1, max: 268_435_455 }), { nil: undefined }),
  }),
  recordOf('queued', {
    clientId: text,
    sequence: safeInteger,
    qos,
    retain: fc.boolean(),
    subscriptionIdentifiers: fc.option(fc.array(fc.integer({ min: 1, max: 268_435_455 })), { nil: undefined }),
    sharedFilter: fc.option(text, { nil: undefined }),
    message: fc.oneof(safeInteger, storedMessage),
  }),
  recordOf('payload', { id: safeInteger, message: storedMessage }),
  recordOf('outgoing', { clientId: text, packetId, sequence: safeInteger, stage: fc.constantFrom('sent', 'received') }),
  recordOf('incoming', { clientId: text, packetId, assignments }),
  recordOf('retained', { message: storedMessage }),
  recordOf('will', {
    clientId: text,
    message: storedMessage,
    delaySeconds: fc.integer({ min: 0, max: 0xffff_ffff }),
    dueAtMs: optionalTime,
  }),
  recordOf('forwarded', { shard, publisher: text, packetId, assignments }),
  recordOf('handoff', { shard, name: text, to: shard, filter: text, message: storedMessage }),
  recordOf('credential', {
    by: fc.constantFrom('username', 'clientid'),
    ...ofNamespace,
    id: name,
    algorithm: fc.constantFrom('plain', 'md5', 'sha', 'sha256', 'sha512'),
    saltPosition: fc.constantFrom('prefix', 'suffix'),
    salt: bytes,
    hash: bytes,
    isSuperuser: fc.boolean(),
    createdAtMs: time,
  }),
  recordOf('gateway-user', {
    chain: name,
    id: text,
    algorithm: fc.constantFrom('plain', 'md5', 'sha', 'sha256', 'sha512', 'pbkdf2_sha512'),
    saltPosition: fc.constantFrom('prefix', 'suffix'),
    salt: bytes,
    hash: bytes,
    isSuperuser: fc.boolean(),
    createdAtMs: time,
  }),
  recordOf('scram', {
    ...ofNamespace,
    username: name,
    algorithm: fc.constantFrom('SCRAM-SHA-256', 'SCRAM-SHA-512'),
    salt: bytes,
    iterations: fc.nat(),
    storedKey: bytes,
    serverKey: bytes,
    isSuperuser: fc.boolean(),
    createdAtMs: time,
  }),
  recordOf('psk', { identity: text, key: bytes }),
  recordOf('rule', {
    about: fc.constantFrom('clientid', 'username', 'all'),
    ...ofNamespace,
    who: name,
    topic: text,
    action: fc.constantFrom('publish', 'subscribe', 'pubsub'),
    permit: fc.constantFrom('allow', 'deny'),
    createdAtMs: time,
  }),
  recordOf('ban', {
    as: fc.constantFrom('clientid', 'username', 'peerhost'),
    ...ofNamespace,
    who: name,
    reason: text,
    by: text,
    atMs: time,
    untilMs: optionalTime,
  }),
  recordOf('account', {
    name: text,
    description: text,
    role,
    namespace,
    password: keptPassword,
    createdAtMs: time,
  }),
  recordOf('namespace', { name: text, createdAtMs: time }),
  recordOf('api-key', {
    id: text,
    name: text,
    description: text,
    role,
    namespace,
    isEnabled: fc.boolean(),
    expiresAtMs: optionalTime,
    secret: keptPassword,
    createdAtMs: time,
  }),
  recordOf('fact', { name: text, value: fc.string({ unit: anyCharacter, maxLength: 500 }) }),
)

function recordOf(
  kind: StoredRecord['kind'],
  fields: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<StoredRecord> {
  const requiredKeys = ['kind', ...Object.keys(fields).filter((field) => fields[field] !== ofNamespace.namespace)]
  return fc.record(
    { kind: fc.constant(kind), ...fields },
    { noNullPrototype: true, requiredKeys: requiredKeys as 'kind'[] },
  ) as fc.Arbitrary<unknown> as fc.Arbitrary<StoredRecord>
}
