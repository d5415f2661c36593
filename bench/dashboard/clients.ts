// Clients that stay connected and do nothing. A process has files for 20,000 sockets or so, and the broker is one process: those
// beyond `maxTcpClients` are clients of MQTT-SN behind one forwarder. They need no file, and the lists of the API have them all.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Scope } from '../../test/e2e/godwit-process.ts'

const maxTcpClients = 10_000
const clientsAtOnce = 200
/** CONNECT packets of MQTT-SN without a response; those that the kernel drops are sent again. */
const window = 256
const againMs = 2_000

/** Settings of a broker for this number of clients. */
export function settingsForClients(snPort: number): readonly string[] {
  const listener = 'gateway.mqttsn.listeners.udp.default'
  return [
    `${listener}.bind=127.0.0.1:${snPort}`,
    `${listener}.max_connections=1000000`,
    `${listener}.max_conn_rate="999999/s"`,
  ]
}

/** Resolves when all clients are connected; they are disconnected at the end of the scope. */
export async function connectClients(scope: Scope, ports: { port: number; snPort: number }, count: number) {
  const overTcp = Math.min(count, maxTcpClients)
  for (let first = 0; first < overTcp; first += clientsAtOnce) {
    const numbers = Array.from({ length: Math.min(clientsAtOnce, overTcp - first) }, (_, at) => first + at)
    const sockets = await Promise.all(numbers.map((number) => connectClient(ports.port, number)))
    scope.after(() => sockets.forEach((socket) => socket.destroy()))
  }
  if (count > overTcp) await connectSnClients(scope, ports.snPort, overTcp, count)
}

/** CONNECT of MQTT 3.1.1, without keep alive; resolves with CONNACK. */
async function connectClient(port: number, number: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  const clientId = Buffer.from(`device-${number}`)
  const body = Buffer.concat([
    Buffer.from([0, 4]),
    Buffer.from('MQTT'),
    Buffer.from([4, 2, 0, 0, 0, clientId.length]),
    clientId,
  ])
  socket.write(Buffer.concat([Buffer.from([0x10, body.length]), body]))
  await once(socket, 'data')
  return socket
}

async function connectSnClients(scope: Scope, port: number, first: number, end: number): Promise<void> {
  const socket = createSocket('udp4')
  scope.after(() => socket.close())
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const { promise: done, resolve, reject } = Promise.withResolvers<void>()
  const open = new Set<number>()
  let next = first
  const send = (): void => {
    while (open.size < window && next < end) {
      open.add(next)
      socket.send(snConnect(next++))
    }
    if (open.size === 0) resolve()
  }
  socket.on('error', reject)
  socket.on('message', (response) => {
    // Of a forwarder: its head, the number of the wireless node, CONNACK.
    if (response[8] !== 5 || response[9] !== 0) reject(new Error(`MQTT-SN client refused: ${response.toString('hex')}`))
    if (open.delete(response.readUInt32BE(3))) send()
  })
  const again = setInterval(() => {
    for (const client of open) socket.send(snConnect(client))
  }, againMs)
  send()
  try {
    await done
  } finally {
    clearInterval(again)
  }
}

/** CONNECT, duration 0: the client may be silent for as long as it likes. */
function snConnect(client: number): Buffer {
  const name = Buffer.from(`meter-${client}`)
  const head = Buffer.from([7, 0xfe, 0, 0, 0, 0, 0, name.length + 6, 4, 4, 1, 0, 0])
  head.writeUInt32BE(client, 3)
  return Buffer.concat([head, name])
}
