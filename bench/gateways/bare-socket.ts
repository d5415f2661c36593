// A UDP socket without a broker, which only responds to the senders of `throughput.ts`. It shows the maximum rate of Node.

import { createSocket } from 'node:dgram'

const [protocol, port] = process.argv.slice(2)
const connack = Buffer.from([3, 5, 0])
const pingresp = Buffer.from([2, 0x17])
const [connect, publish] = [4, 0x0c]
const receiveBufferBytes = 4_194_304

const socket = createSocket({ type: 'udp4', lookup: (address, _, done) => done(null, address, 4) })
socket.on('message', (bytes, { address, port: from }) => {
  if (protocol === 'coap') socket.send(Buffer.from([0x60, 0x44, bytes[2] ?? 0, bytes[3] ?? 0]), from, address, () => {})
  else if (bytes[1] !== publish) socket.send(bytes[1] === connect ? connack : pingresp, from, address)
})
socket.bind(Number(port), '127.0.0.1', () => {
  socket.setRecvBufferSize(receiveBufferBytes)
  console.log('open')
})
