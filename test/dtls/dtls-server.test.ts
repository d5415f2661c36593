// The DTLS server in memory, by F7 and F8 of the gateway requirements.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cipherSuites } from '../../lib/dtls/cipher-suites.ts'
import { expandSecret } from '../../lib/dtls/key-schedule.ts'
import { ReplayWindow } from '../../lib/dtls/replay-window.ts'
import { DtlsWorld } from './dtls-world.ts'
import { identity, keyCredentials } from './dtls-socket-stage.ts'

const peer = { address: '192.0.2.1', port: 1_000 }

test('[F7] an unauthenticated client gets a cookie of at most three times what it sent, and uses no memory', () => {
  const world = new DtlsWorld()
  const client = world.client()
  client.start()
  const [hello] = client.outbox
  world.server.handleDatagram(hello, peer)
  assert.equal(world.sent.length, 1)
  assert.ok(world.sent[0].datagram.length <= Math.max(64, 3 * hello.length))
  assert.deepEqual([world.server.handshakes, world.wakesAtMs], [0, Infinity])
})

test('[F7] the cookie is sent in a record of the version of the client: tinydtls reads no other', () => {
  for (const version of [0xfefd, 0xfeff]) {
    const world = new DtlsWorld()
    const client = world.client()
    client.start()
    const [hello] = client.outbox
    hello.writeUInt16BE(version, 1)
    world.server.handleDatagram(hello, peer)
    assert.equal(world.sent[0].datagram.readUInt16BE(1), version)
  }
})

test('[F7] a cookie is valid for its address, and for two minutes at most', () => {
  const world = new DtlsWorld()
  const client = world.client()
  client.start()
  world.server.handleDatagram(client.outbox.splice(0)[0], peer)
  client.receive(world.sent.splice(0)[0].datagram)
  const [withCookie] = client.outbox.splice(0)
  world.server.handleDatagram(withCookie, { address: '192.0.2.2', port: 1_000 })
  world.server.handleDatagram(withCookie, { address: '192.0.2.1', port: 1_001 })
  world.nowMs += 121_000
  world.server.handleDatagram(withCookie, peer)
  assert.equal(world.server.handshakes, 0)
  assert.equal(world.sent.length, 3)
})

test('[F8] each client behind one address gets a cookie, which is smaller than its hello', () => {
  const world = new DtlsWorld()
  const client = world.client()
  client.start()
  for (let port = 1; port <= 5_000; port += 1) world.server.handleDatagram(client.outbox[0], { ...peer, port })
  assert.equal(world.sent.length, 5_000)
  for (const { datagram } of world.sent) assert.ok(datagram.length < client.outbox[0].length)
})

const suites = [
  ['PSK CCM_8', 0xc0a8, undefined],
  ['PSK CCM', 0xc0a4, undefined],
  ['PSK GCM', 0x00a8, undefined],
  ['ECDHE_PSK CCM_8, x25519', 0xd003, 29],
  ['ECDHE_PSK CCM_8, P-256', 0xd003, 23],
] as const
for (const [name, suite, group] of suites) {
  for (const hasExtendedMasterSecret of [true, false]) {
    test(`[F7] ${name} ${hasExtendedMasterSecret ? 'with' : 'without'} extended master secret`, () => {
      const world = new DtlsWorld()
      const client = world.client({ suite, hasExtendedMasterSecret, ...(group === undefined ? {} : { group }) })
      world.connect(client)
      assert.ok(client.isOpen)
      assert.equal(world.opened[0]?.credentials.pskIdentity, identity)
      client.send('one')
      world.run(client)
      assert.deepEqual(client.received, ['one'])
      assert.equal(client.sessionId.length, hasExtendedMasterSecret ? 32 : 0)
    })
  }
}

test('[F7] the suites are preferred in the order of the contract', () => {
  const preferred = cipherSuites.map(({ id }) => id)
  assert.deepEqual(preferred, [0xc02b, 0xc0ae, 0xc02f, 0xd003, 0xc0a8, 0xc0a4, 0x00a8])
})

test('[F7] a client of DTLS 1.0 gets no response, and leaves no state', () => {
  const world = new DtlsWorld()
  const client = world.client()
  client.start()
  const [hello] = client.outbox.splice(0)
  // The version of ClientHello, after the headers of the record and of the handshake message.
  hello.writeUInt16BE(0xfeff, 25)
  world.server.handleDatagram(hello, peer)
  assert.deepEqual([world.sent.length, world.server.handshakes], [0, 0])
})

test('[F7] without a common suite, the client gets handshake_failure, and no state is left', () => {
  const world = new DtlsWorld()
  const client = world.client({ suite: 0xc02b, group: 23 })
  world.connect(client)
  assert.deepEqual(client.alerts, [[2, 40]])
  assert.equal(world.server.handshakes, 0)
})

test('[F7] a flight is sent again after 1 s, doubled, until the handshake times out', () => {
  const world = new DtlsWorld()
  const client = world.client()
  client.start()
  world.server.handleDatagram(client.outbox.splice(0)[0], peer)
  client.receive(world.sent.splice(0)[0].datagram)
  world.server.handleDatagram(client.outbox.splice(0)[0], peer)
  assert.equal(world.sent.splice(0).length, 1)
  const times: number[] = []
  for (let second = 1; second <= 20; second += 1) {
    world.pass(1_000)
    if (world.sent.splice(0).length > 0) times.push(second)
  }
  assert.deepEqual(times, [1, 3, 7])
  assert.deepEqual([world.server.handshakes, world.refused], [0, ['its handshake took too long']])
})

test('[F7] if the last flight of the server is lost, a repeated Finished gets it again', () => {
  const world = new DtlsWorld()
  const client = world.client()
  client.start()
  world.server.handleDatagram(client.outbox.splice(0)[0], peer)
  client.receive(world.sent.splice(0)[0].datagram)
  world.server.handleDatagram(client.outbox.splice(0)[0], peer)
  client.receive(world.sent.splice(0)[0].datagram)
  const flight = client.outbox.splice(0)
  for (const datagram of flight) world.server.handleDatagram(datagram, peer)
  assert.equal(world.opened.length, 1)
  world.sent.splice(0)
  world.pass(1_000)
  client.sendFinishedAgain()
  world.run(client)
  assert.ok(client.isOpen)
})

test('[F7] messages may arrive in fragments of 5 bytes, in reverse order, and each twice', () => {
  const world = new DtlsWorld()
  const client = world.client({ fragmentBytes: 5, suite: 0xd003, group: 23 })
  client.start()
  while (!client.isOpen) {
    const datagrams = client.outbox.splice(0).reverse()
    assert.ok(datagrams.length + world.sent.length > 0)
    for (const datagram of datagrams) {
      world.server.handleDatagram(datagram, peer)
      world.server.handleDatagram(datagram, peer)
    }
    for (const { datagram } of world.sent.splice(0)) client.receive(datagram)
  }
  assert.equal(world.opened.length, 1)
})

test('[F7] repeated records and records with a wrong authentication are dropped', () => {
  const world = new DtlsWorld()
  const client = world.client()
  world.connect(client)
  client.send('one')
  const [record] = client.outbox.splice(0)
  const broken = Buffer.from(record)
  broken[broken.length - 1] ^= 1
  world.server.handleDatagram(broken, peer)
  assert.deepEqual(world.messages, [])
  world.server.handleDatagram(record, peer)
  world.server.handleDatagram(record, peer)
  assert.deepEqual(world.messages, ['1000 one'])
})

test('[F7] the replay window has 64 records', () => {
  const window = new ReplayWindow()
  for (const sequence of [0, 5, 100]) window.recordSequence(sequence)
  assert.deepEqual(
    [0, 5, 36, 37, 99, 100, 101].filter((sequence) => window.isNew(sequence)),
    [37, 99, 101],
  )
  window.recordSequence(37)
  assert.equal(window.isNew(37), false)
})

test('[F7] close_notify gets close_notify', () => {
  const world = new DtlsWorld()
  const client = world.client()
  world.connect(client)
  client.close()
  world.run(client)
  assert.deepEqual(client.alerts, [[1, 0]])
  assert.deepEqual([world.closed.length, world.server.sessions], [1, 0])
})

test('[F7] renegotiation is refused', () => {
  const world = new DtlsWorld()
  const client = world.client()
  world.connect(client)
  client.renegotiate()
  client.send('still here')
  world.run(client)
  assert.deepEqual(client.alerts, [[1, 100]])
  assert.deepEqual(client.received, ['still here'])
})

test('[F7] a new ClientHello of a known address replaces the association when its handshake is complete', () => {
  const world = new DtlsWorld()
  const before = world.client()
  world.connect(before)
  const wrong = world.client({ random: 'again', key: Buffer.alloc(16) })
  world.connect(wrong)
  before.send('one')
  world.run(before)
  assert.deepEqual(before.received, ['one'])
  const after = world.client({ random: 'third' })
  world.connect(after)
  assert.ok(after.isOpen)
  before.send('two')
  after.send('three')
  world.run(before)
  world.run(after)
  assert.deepEqual(world.messages, ['1000 one', '1000 three'])
  assert.equal(world.server.sessions, 1)
})

test('[F7] a session is resumed by its ID, and ends with a change of credentials', () => {
  const world = new DtlsWorld()
  const first = world.client()
  world.connect(first)
  const session = { id: first.sessionId, master: first.master }
  const second = world.client({ session, random: 'second', key: Buffer.alloc(16) })
  world.connect(second, 1_001)
  assert.ok(second.isOpen)
  assert.equal(world.opened[1]?.credentials.pskIdentity, identity)
  assert.ok(world.opened[0]?.sessionId)
  assert.equal(world.opened[1]?.sessionId, world.opened[0]?.sessionId)
  world.server.setCredentials(keyCredentials)
  const third = world.client({ session, random: 'third' })
  world.connect(third, 1_002)
  assert.ok(third.isOpen)
  assert.notDeepEqual(third.sessionId, session.id)
  assert.notEqual(world.opened[2]?.sessionId, world.opened[0]?.sessionId)
})

for (const connectionId of ['', 'abc']) {
  test(`[F7] RFC 9146: a client whose records go with "${connectionId}" is known by its ID at a new port`, () => {
    const world = new DtlsWorld({ usesConnectionIds: true })
    const client = world.client({ connectionId: Buffer.from(connectionId) })
    world.connect(client)
    assert.ok(client.isOpen)
    client.send('one')
    world.run(client)
    client.send('two')
    const [late] = client.outbox.splice(0)
    client.send('three')
    world.run(client, 2_000)
    assert.deepEqual(client.received, ['one', 'three'])
    assert.deepEqual(world.opened[0]?.peer, { address: '192.0.2.1', port: 2_000 })
    // An older record does not change the address of the client.
    world.server.handleDatagram(late, { address: '192.0.2.1', port: 3_000 })
    assert.equal(world.sent[0]?.port, 2_000)
    assert.deepEqual(world.messages, ['1000 one', '2000 three', '2000 two'])
  })
}

test('[F8] an address has at most 1,024 associations, and a full server ends the one that was idle longest', () => {
  const world = new DtlsWorld({ maxSessions: 2 })
  for (let port = 1; port <= 1_100; port += 1) {
    const client = world.client({ random: String(port) })
    client.start()
    world.server.handleDatagram(client.outbox.splice(0)[0], { ...peer, port })
    client.receive(world.sent.splice(0)[0].datagram)
    world.server.handleDatagram(client.outbox.splice(0)[0], { ...peer, port })
    world.sent.splice(0)
  }
  assert.equal(world.server.handshakes, 1_024)
  world.pass(15_000)
  assert.equal(world.server.handshakes, 0)
  for (const port of [1, 2, 3]) world.connect(world.client(), port)
  assert.deepEqual([world.server.sessions, world.opened.length], [2, 2])
  world.pass(61_000)
  world.connect(world.client({ random: 'later' }), 4)
  assert.deepEqual([world.server.sessions, world.closed[0]?.peer.port], [2, 1])
})

test('[F8] a secret uses only its own memory: sessions that can be resumed would use 8 KiB each', () => {
  for (const length of [12, 40, 48, 96]) {
    const secret = expandSecret(Buffer.from('secret'), 'label', Buffer.from('seed'), length)
    assert.deepEqual([secret.length, secret.buffer.byteLength], [length, length])
  }
})
