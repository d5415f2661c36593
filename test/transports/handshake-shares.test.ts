// Connections of one address that never complete their TLS handshake do not hold up clients of other addresses.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { HandshakeShares } from '../../src/transports/tcp/handshake-shares.ts'
import { TlsStage } from './tls-stage.ts'

const maxHandshakes = 16
const silentConnections = 80

interface Counted {
  readonly network: string
  readonly sweeps: number
  readonly raw: { readonly bytesRead: number }
  readonly name: string
}

const from = (address: string, name: string, { sweeps = 0, bytesRead = 0 } = {}): Counted => ({
  network: HandshakeShares.toNetwork(address),
  sweeps,
  raw: { bytesRead },
  name,
})

async function openSilent(t: TestContext, port: number, localAddress: string, count: number): Promise<void> {
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let number = 0; number < count; number++) {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
  }
}

function tlsClient(t: TestContext, port: number, localAddress: string) {
  const client = connectTls({ socket: connect({ port, host: '127.0.0.1', localAddress }), rejectUnauthorized: false })
  client.on('error', () => {})
  t.after(() => client.destroy())
  return client
}

test('for each client of another address, one silent handshake of the address with most is ended at once', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const stage = await new TlsStage(t, { maxHandshakes }).listen()
  await openSilent(t, stage.port, '127.0.0.2', silentConnections)
  for (let number = 0; number < 3; number++) {
    // No time passes, so no handshake times out.
    await once(tlsClient(t, stage.port, '127.0.0.3'), 'secureConnect')
    assert.match(await stage.refusals.next(), /ended, because 127\.0\.0\.2 has the most handshakes/)
  }
})

test('many clients of one address (NAT) still connect, also if other addresses are served first', async (t) => {
  const stage = await new TlsStage(t, { maxHandshakes: 2 }).listen()
  const clients = Array.from({ length: 40 }, (_, number) =>
    tlsClient(t, stage.port, number % 8 === 0 ? '127.0.0.3' : '127.0.0.2'),
  )
  await Promise.all(clients.map((client) => once(client, 'secureConnect')))
})

test('of the address with most handshakes, one without data is ended first, then one that has stalled', () => {
  const shares = new HandshakeShares<Counted>()
  const active = from('192.0.2.1', 'active', { bytesRead: 300 })
  const stalled = from('192.0.2.1', 'stalled', { bytesRead: 1, sweeps: 4 })
  const silent = from('192.0.2.1', 'silent')
  for (const handshake of [active, stalled, silent, from('192.0.2.2', 'other')]) shares.start(handshake)
  assert.equal(shares.findStalledFor('192.0.2.3')?.name, 'silent')
  shares.end(silent)
  assert.equal(shares.findStalledFor('192.0.2.3')?.name, 'stalled')
  shares.end(stalled)
  assert.equal(shares.findStalledFor('192.0.2.3'), undefined, 'one handshake of an address is never ended')
  assert.equal(shares.findStalledFor('192.0.2.1'), undefined)
})

test('all addresses of an IPv6 /64 share, and waiting clients of the address with fewest handshakes come first', () => {
  const shares = new HandshakeShares<Counted>()
  for (let number = 1; number <= 3; number++) shares.start(from(`2001:db8::${number}`, `silent ${number}`))
  assert.equal(shares.findStalledFor(HandshakeShares.toNetwork('2001:db8:0:0:ffff::1')), undefined)
  assert.equal(shares.findStalledFor(HandshakeShares.toNetwork('2001:db8:0:1::1'))?.name, 'silent 1')
  shares.wait(from('2001:db8::9', 'first'))
  shares.wait(from('2001:db8:0:1::1', 'second'))
  assert.deepEqual(
    [shares.takeNext()?.name, shares.takeNext()?.name, shares.takeNext()],
    ['second', 'first', undefined],
  )
})
