// Datagrams over a local UDP socket.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { test } from 'node:test'
import { openUdp } from '../../src/transports/index.ts'

test('datagrams arrive in order, with the address and port of their sender, and responses go back there', async () => {
  const sent = Array.from({ length: 100 }, (_, number) => `datagram ${number}`)
  const received: string[] = []
  const { promise: isComplete, resolve, reject } = Promise.withResolvers<void>()
  const socket = await openUdp({
    host: '127.0.0.1',
    port: 0,
    accessRules: [],
    sharesPort: false,
    onDatagram: (bytes, address, port) => {
      received.push(`${address} ${port} ${bytes.toString()}`)
      if (received.length === sent.length) resolve()
      socket.send(bytes, address, port)
    },
    onFault: reject,
  })
  const device = createSocket('udp4')
  try {
    device.bind(0, '127.0.0.1')
    await once(device, 'listening')
    const responses: string[] = []
    const allReceived = new Promise<void>((resolve) =>
      device.on('message', (bytes) => {
        if (responses.push(bytes.toString()) === sent.length) resolve()
      }),
    )
    for (const text of sent) device.send(text, socket.port, '127.0.0.1')
    await isComplete
    const { port } = device.address()
    assert.deepEqual(
      received,
      sent.map((text) => `127.0.0.1 ${port} ${text}`),
    )
    await allReceived
    assert.deepEqual(responses, sent)
  } finally {
    device.close()
    await socket.close()
  }
})
