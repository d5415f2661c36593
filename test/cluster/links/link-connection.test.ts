// Connections between nodes: authentication, hello, and what ends them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  challengeBytes,
  decodeHeartbeat,
  encodeHeartbeat,
  LinkConnection,
  LinkFailure,
  type LinkEnd,
  type LinkIdentity,
  proofBytes,
} from '../../../src/cluster/index.ts'
import { fc } from '../../properties.ts'
import { createIdentity, createTestSecret, lives, SimulatedNetwork, SimulatedNode } from './simulated-nodes.ts'

const secret = createTestSecret('plant secret')
const frame = (kind: number, body: Uint8Array = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(5)
  head.writeUInt32LE(1 + body.length)
  head[4] = kind
  return Buffer.concat([head, body])
}
const kinds = { challenge: 1, proof: 2, hello: 3, resume: 4, confirm: 5, end: 6, shardDown: 17, channelData: 18 }

/** Connects two nodes. Returns why the connection has ended at each of them; undefined: it has not. */
function connect(
  changes: readonly [Partial<LinkIdentity>, Partial<LinkIdentity>],
  options: Parameters<SimulatedNetwork['connect']>[0] = {},
): (LinkEnd | undefined)[] {
  const nodes = changes.map((change, index) => new SimulatedNode(createIdentity(index, change)))
  const network = new SimulatedNetwork([nodes[0], nodes[1]])
  network.connect(options)
  network.settle()
  return nodes.map(({ ends }) => ends.at(-1))
}

function reasons(ends: readonly (LinkEnd | undefined)[]): (string | undefined)[] {
  return ends.map((end) => end?.reason)
}

/** An acceptor without a node: what it sends is collected, and a test writes the bytes of the other side. */
class Acceptor {
  readonly ends: LinkEnd[] = []
  readonly connection: LinkConnection
  readonly node = new SimulatedNode(createIdentity(0))

  constructor(withSecret = false) {
    this.connection = new LinkConnection({
      role: 'acceptor',
      purpose: 'data',
      identity: this.node.identity,
      secret: withSecret ? secret : undefined,
      challenge: Buffer.alloc(challengeBytes, 1),
      nowMs: 0,
      establish: (connection, hello) => this.node.links.admit(connection, hello, 0),
      onOutput: () => {},
      onEnd: (_, end) => void this.ends.push(end),
    })
  }

  receive(...frames: Buffer[]): void {
    for (const one of frames) this.connection.handleBytes(one, 0)
  }

  /** Takes the place of a node that has completed the handshake and sent its mark. */
  establish(): void {
    this.receive(frame(kinds.challenge, Buffer.alloc(challengeBytes, 2)), frame(kinds.proof))
    this.receive(encodeHello(), createMark())
    assert.equal(this.connection.isEstablished, true)
    while (this.connection.takeOutput(1_000_000) !== undefined);
  }

  get sentKinds(): number[] {
    const bytes = this.connection.takeOutput(1_000_000) ?? Buffer.alloc(0)
    const found: number[] = []
    for (let at = 0; at < bytes.length; at += 4 + bytes.readUInt32LE(at)) found.push(bytes[at + 4])
    return found
  }
}

function field(tag: number, value: Uint8Array): Buffer {
  const head = Buffer.alloc(3)
  head[0] = tag
  head.writeUInt16LE(value.length, 1)
  return Buffer.concat([head, value])
}

/** The hello of node 2 as the bytes that it sends, so that a change of the encoding is noticed. */
function encodeHello(further: readonly Buffer[] = []): Buffer {
  const fields = [
    field(1, Buffer.from([1, 1])),
    field(2, Buffer.from([0])),
    field(3, Buffer.from('plant')),
    field(4, Buffer.from('node-2')),
    field(5, Buffer.from(lives[1])),
    field(6, Buffer.from([1, 0, 0, 0])),
  ]
  return frame(kinds.hello, Buffer.concat([...fields, ...further]))
}

function createMark(received = 0): Buffer {
  const number = Buffer.alloc(6)
  number.writeUIntLE(received, 0, 6)
  return frame(kinds.resume, Buffer.concat([Buffer.from(lives[0], 'hex'), Buffer.from([1, 0, 0, 0]), number]))
}

function numbered(kind: number, number: number, body: readonly number[] = []): Buffer {
  const head = Buffer.alloc(6)
  head.writeUIntLE(number, 0, 6)
  return frame(kind, Buffer.concat([head, Buffer.from(body)]))
}

/** Announces stored shard 7 with the ID 1. */
const shardUp = (number: number): Buffer => numbered(16, number, [1, 0, 0, 0, 0, 7, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0])

test('nodes with the same secret connect, and with another one or none they do not', () => {
  assert.deepEqual(reasons(connect([{}, {}], { secrets: [secret, secret] })), [undefined, undefined])
  const other = createTestSecret('other secret')
  assert.deepEqual(reasons(connect([{}, {}], { secrets: [secret, other] })), ['authentication', 'authentication'])
  assert.deepEqual(reasons(connect([{}, {}], { secrets: [undefined, secret] })), ['authentication', 'authentication'])
  assert.deepEqual(reasons(connect([{}, {}], { secrets: [secret, undefined] })), ['authentication', 'authentication'])
})

test('an acceptor proves nothing and tells nothing before the dialer has proved the secret', () => {
  const acceptor = new Acceptor(true)
  acceptor.receive(frame(kinds.challenge, Buffer.alloc(challengeBytes, 2)))
  assert.deepEqual(acceptor.sentKinds, [kinds.challenge])
  acceptor.receive(frame(kinds.proof, Buffer.alloc(proofBytes)))
  assert.equal(acceptor.ends[0]?.reason, 'authentication')
  assert.deepEqual(acceptor.sentKinds, [])
})

test('the proof of one side is none for the other side', () => {
  const acceptor = new Acceptor(true)
  const challenge = Buffer.alloc(challengeBytes, 1)
  acceptor.receive(frame(kinds.challenge, challenge))
  const text = Buffer.concat([Buffer.from('godwit cluster link, acceptor\0'), challenge, challenge])
  acceptor.receive(frame(kinds.proof, secret.computeProof(text)))
  assert.equal(acceptor.ends[0]?.reason, 'authentication')
})

test('a node of another cluster, with other stores, or of another life than expected is refused', () => {
  assert.deepEqual(reasons(connect([{ clusterId: 'other' }, {}])), ['wrong-cluster', 'wrong-cluster'])
  const stores = [{ storeIdentifiers: ['7301'] }, { storeIdentifiers: ['7302'] }] as const
  assert.deepEqual(reasons(connect([stores[0], stores[1]])), ['wrong-store', 'wrong-store'])
  assert.deepEqual(reasons(connect([stores[0], stores[0]])), [undefined, undefined])
  assert.deepEqual(reasons(connect([stores[0], {}])), [undefined, undefined], 'not known yet')
  assert.deepEqual(reasons(connect([{}, {}], { expectedLife: '00000000000000cc' })), ['other-life', 'other-life'])
  assert.deepEqual(reasons(connect([{ life: lives[1] }, {}])), ['other-life', 'other-life'])
  assert.deepEqual(reasons(connect([{ life: '00000000000000cc' }, {}])), ['unknown-life', 'unknown-life'])
})

const levels = (oldest: number, newest: number): Partial<LinkIdentity> => ({ levels: { oldest, newest } })

test('nodes use the highest level of the protocol that both understand', () => {
  assert.deepEqual(reasons(connect([levels(1, 2), levels(1, 1)])), [undefined, undefined])
  assert.deepEqual(reasons(connect([levels(2, 3), levels(1, 1)])), ['no-common-level', 'no-common-level'])
})

test('a hello with unknown fields of a later version is understood', () => {
  const acceptor = new Acceptor()
  acceptor.receive(frame(kinds.challenge, Buffer.alloc(challengeBytes, 2)), frame(kinds.proof))
  acceptor.receive(encodeHello([field(200, Buffer.from('new'))]))
  assert.equal(acceptor.connection.isEstablished, true)
})

test('a connection that is not authenticated costs little: short frames, and five seconds', () => {
  const long = new Acceptor()
  long.receive(frame(kinds.challenge, Buffer.alloc(10_000)).subarray(0, 5))
  assert.equal(long.ends[0]?.reason, 'frame-too-long')
  const slow = new Acceptor()
  slow.connection.tick(4_999)
  assert.equal(slow.ends.length, 0)
  slow.receive(frame(kinds.challenge, Buffer.alloc(challengeBytes)))
  slow.connection.tick(5_000)
  assert.equal(slow.ends[0]?.reason, 'too-slow')
})

test('frames that are not allowed end the connection with their reason', () => {
  const cases: [string, string, Buffer[]][] = [
    ['an unknown kind', 'bad-frame', [numbered(99, 1)]],
    ['a length of 0', 'bad-frame', [Buffer.alloc(4)]],
    ['a frame above the limit', 'frame-too-long', [Buffer.from([255, 255, 255, 127, 18])]],
    ['a second mark', 'bad-frame', [createMark()]],
    ['a skipped number', 'number-skipped', [shardUp(2)]],
    ['a repeated number', 'number-repeated', [shardUp(1), shardUp(1)]],
    ['a shard that is announced twice', 'bad-frame', [shardUp(1), shardUp(2)]],
    ['data of an unknown shard', 'unknown-channel', [numbered(18, 1, [5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9])]],
    ['the end of an unknown shard', 'unknown-channel', [numbered(17, 1, [5, 0, 0, 0])]],
    ['a frame that ends within a field', 'bad-frame', [numbered(17, 1, [5])]],
    ['the confirmation of what was not sent', 'bad-mark', [frame(kinds.confirm, Buffer.from([1, 0, 0, 0, 0, 0]))]],
    ['a heartbeat', 'bad-frame', [frame(7)]],
  ]
  for (const [name, reason, frames] of cases) {
    const acceptor = new Acceptor()
    acceptor.establish()
    acceptor.receive(...frames)
    assert.equal(acceptor.ends[0]?.reason, reason, name)
    assert.deepEqual(acceptor.sentKinds.at(-1), kinds.end, `${name}: the other side is told`)
  }
})

test('a mark that confirms frames which do not exist ends the connection', () => {
  const acceptor = new Acceptor()
  acceptor.receive(frame(kinds.challenge, Buffer.alloc(challengeBytes, 2)), frame(kinds.proof))
  acceptor.receive(encodeHello(), createMark(1))
  assert.equal(acceptor.ends[0]?.reason, 'bad-mark')
})

test('parts of a link buffer that do not fit end the connection', () => {
  const acceptor = new Acceptor()
  const local = acceptor.node.links.addShard({ name: { stored: 0 }, epoch: 1, incarnation: 1 })
  acceptor.establish()
  const part = (number: number, remaining: number): Buffer =>
    numbered(kinds.channelData, number, [1, 0, 0, 0, local, 0, 0, 0, remaining, 0, 0, 0, 65, 66])
  acceptor.receive(shardUp(1), part(2, 4), part(3, 4))
  assert.equal(acceptor.ends[0]?.reason, 'bad-frame')
})

test('any bytes end the connection or wait for more, and throw nothing', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 }), fc.boolean(), (chunks, isEstablished) => {
      const acceptor = new Acceptor()
      if (isEstablished) acceptor.establish()
      for (const chunk of chunks) acceptor.connection.handleBytes(Buffer.from(chunk), 0)
    }),
    { numRuns: 500 },
  )
  const body = fc.tuple(fc.constantFrom(3, 4, 5, 6, 7, 16, 17, 18, 19), fc.uint8Array({ maxLength: 40 }))
  fc.assert(
    fc.property(fc.array(body, { minLength: 1, maxLength: 6 }), (frames) => {
      const acceptor = new Acceptor()
      acceptor.establish()
      acceptor.receive(
        ...frames.map(([kind, bytes], i) => (kind < 16 ? frame(kind, bytes) : numbered(kind, i + 1, [...bytes]))),
      )
    }),
    { numRuns: 1_000 },
  )
})

test('a heartbeat has the time, the lease, and server and timeline of each store', () => {
  const heartbeat = {
    wallClockMs: 1_796_000_000_123.5,
    hasLease: true,
    version: 12,
    silenceMs: 3_200,
    stores: [{ systemIdentifier: '7432101234567890123', timeline: 3 }, undefined],
  }
  const bytes = encodeHeartbeat(heartbeat)
  assert.deepEqual(decodeHeartbeat(bytes.subarray(5)), heartbeat)
  assert.deepEqual(decodeHeartbeat(Buffer.concat([bytes.subarray(5), Buffer.from('later fields')])), heartbeat)
  assert.throws(() => decodeHeartbeat(bytes.subarray(5, 12)), LinkFailure)
})
