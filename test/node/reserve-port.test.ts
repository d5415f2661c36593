// The start reserves ports without accepting connections before clients are served.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, Server, type AddressInfo } from 'node:net'
import { mock, test } from 'node:test'
import { reserveTcpPort, type ReservedPort } from '../../src/node/listeners/reserve-port.ts'
import { reservePort } from '../e2e/reserve-port.ts'

function errorOfConnecting(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    socket.once('connect', () => {
      socket.destroy()
      resolve(undefined)
    })
  })
}

for (const host of ['127.0.0.1', '0.0.0.0', '::', 'localhost']) {
  test(`a reserved port on ${host} refuses connections, also those that race with it, and is free afterwards`, async (t) => {
    const listen = mock.method(Server.prototype, 'listen')
    const port = await reservePort(t)
    const listened = listen.mock.callCount()
    const racing = Array.from({ length: 20 }, () => errorOfConnecting('127.0.0.1', port))
    const reserved = await reserveTcpPort(host, port, [])
    const later = await errorOfConnecting('127.0.0.1', port)
    assert.equal(listen.mock.callCount(), listened)
    listen.mock.restore()
    assert.deepEqual(new Set([...(await Promise.all(racing)), later]), new Set(['ECONNREFUSED']))
    await reserved.release()
    const server = createServer().listen(port, host)
    await once(server, 'listening')
    server.close()
  })
}

test('a port of another program is reported as in use, for one address and for all addresses', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  for (const host of ['127.0.0.1', '0.0.0.0', '::'])
    await assert.rejects(reserveTcpPort(host, port, []), { code: 'EADDRINUSE' }, host)
})

test('a port that this node has reserved is reported as in use if the addresses overlap', async (t) => {
  const port = await reservePort(t)
  const taken = [{ host: '127.0.0.1', port }]
  const reserved: ReservedPort[] = []
  for (const host of ['127.0.0.1', '0.0.0.0', '::'])
    await assert.rejects(reserveTcpPort(host, port, taken), { code: 'EADDRINUSE' }, host)
  for (const host of ['127.0.0.2', '::1']) reserved.push(await reserveTcpPort(host, port, taken))
  for (const each of reserved) await each.release()
})

test('for an address that the machine does not have, the error of the system is reported', async () => {
  await assert.rejects(reserveTcpPort('192.0.2.1', 1_883, []), { code: 'EADDRNOTAVAIL' })
})
