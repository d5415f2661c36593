// One sender of `throughput.ts`, in its own process. It has at most a window of publications in flight, so none is lost, and it counts the
// acknowledged ones. The parent starts it, sends the time to begin, and receives the number of publications.
//
//   MQTT-SN   bursts of PUBLISH with QoS 0; each burst ends with PINGREQ, and its PINGRESP confirms that the burst was read
//   CoAP      confirmable PUT /ps/s, each with the response 2.04

import { createSocket, type Socket, type SocketOptions } from 'node:dgram'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'

const burst = 64
const burstsUnderWay = 4
const requestsPerSocket = 8
/** With several sockets, a message ID is reused late enough: the gateway still remembers recent ones. */
const coapSockets = 16
const stalledMs = 500
const connackBytes = 3
const changed = 0x44

/** The function sends, and returns a function that counts the responses of one socket. */
type Sender = (socket: Socket, name: string) => Promise<() => number>

const protocols: Readonly<Record<string, { readonly sockets: number; readonly begin: Sender }>> = {
  'mqtt-sn': { sockets: 1, begin: sendMqttSn },
  coap: { sockets: coapSockets, begin: sendCoap },
}

const lookup: NonNullable<SocketOptions['lookup']> = (address, _, done) => done(null, address, 4)

async function openSocket(port: number): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', lookup })
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** Calls `resend` if no response has arrived for a while: a datagram was lost. */
function watch(responseCount: () => number, resend: () => void): void {
  let before = -1
  setInterval(() => {
    if (responseCount() === before) resend()
    before = responseCount()
  }, stalledMs).unref()
}

async function sendMqttSn(socket: Socket, name: string): Promise<() => number> {
  const clientId = Buffer.from(name)
  socket.send(Buffer.concat([Buffer.from([clientId.length + 6, 4, 4, 1, 0, 60]), clientId]))
  const [connack] = (await once(socket, 'message')) as [Buffer]
  if (connack.length !== connackBytes || connack[2] !== 0) throw new Error(`not connected: ${connack.toString('hex')}`)
  const publish = Buffer.concat([Buffer.from([0x0f, 0x0c, 0x01, 0, 1, 0, 0]), Buffer.from('21.5 deg')])
  const ping = Buffer.from([2, 0x16])
  let responses = 0
  const send = (): void => {
    for (let count = 0; count < burst; count++) socket.send(publish)
    socket.send(ping)
  }
  socket.on('message', () => {
    responses++
    send()
  })
  for (let count = 0; count < burstsUnderWay; count++) send()
  watch(() => responses, send)
  return () => responses * burst
}

function sendCoap(socket: Socket, name: string): Promise<() => number> {
  const query = Buffer.from(`c=${name}`)
  const rest = Buffer.concat([
    Buffer.from([0xb2, 0x70, 0x73, 0x01, 0x73, 0x40 + query.length]),
    query,
    Buffer.from([0xff]),
    Buffer.from('21.5'),
  ])
  let messageId = 0
  let responses = 0
  const send = (): void => {
    messageId = (messageId + 1) & 0xffff
    socket.send([Buffer.from([0x40, 0x03, messageId >> 8, messageId & 0xff]), rest])
  }
  socket.on('message', (bytes) => {
    if (bytes[1] !== changed) throw new Error(`not taken: ${bytes.toString('hex')}`)
    responses++
    send()
  })
  for (let count = 0; count < requestsPerSocket; count++) send()
  watch(() => responses, send)
  return Promise.resolve(() => responses)
}

const [protocolName = '', port, seconds, number] = process.argv.slice(2)
const protocol = protocols[protocolName]
if (protocol === undefined) throw new Error(`no such protocol: ${protocolName}`)
const { sockets, begin } = protocol
const counts = await Promise.all(
  Array.from({ length: sockets }, async (_, at) => await begin(await openSocket(Number(port)), `s${number}-${at}`)),
)
const total = (): number => counts.reduce((sum, count) => sum + count(), 0)
process.send?.('ready')
await once(process, 'message')
const before = total()
const beginMs = performance.now()
await pause(Number(seconds) * 1_000)
const perSecond = ((total() - before) / (performance.now() - beginMs)) * 1_000
process.send?.({ taken: total() - before, perSecond })
process.exit()
