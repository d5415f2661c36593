// Malformed HTTP, and bytes that are not HTTP.

import { connect } from 'node:net'
import type { Random } from '../../protocol/fuzz/random.ts'

const head = 'Host: a\r\nAuthorization: Basic YTpi\r\n'

const broken: readonly ((random: Random) => string | Buffer)[] = [
  () => '\r\n\r\n',
  () => 'GET\r\n\r\n',
  () => 'GET /api/v4/brokers HTTP/9.9\r\n\r\n',
  () => 'GET /api/v4/brokers\r\n\r\n',
  () => `GET /api/v4/brokers HTTP/1.1\r\n\r\n`,
  () => `GET http://elsewhere/api/v4/brokers HTTP/1.1\r\n${head}\r\n`,
  () => `CONNECT a:1 HTTP/1.1\r\n${head}\r\n`,
  () => `GET * HTTP/1.1\r\n${head}\r\n`,
  () =>
    `POST /api/v4/brokers HTTP/1.1\r\n${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
  () => `POST /api/v4/brokers HTTP/1.1\r\n${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`,
  () => `POST /api/v4/brokers HTTP/1.1\r\n${head}Content-Length: -1\r\n\r\n`,
  () => `POST /api/v4/brokers HTTP/1.1\r\n${head}Content-Length: 99999999999999999999\r\n\r\na`,
  () => `POST /api/v4/brokers HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\na`,
  () =>
    `POST /api/v4/brokers HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n5;a=${'b'.repeat(5_000)}\r\nabcde\r\n`,
  () => `GET /api/v4/brokers HTTP/1.1\r\n${head}Expect: 200-maybe\r\n\r\n`,
  () => `GET /api/v4/brokers HTTP/1.1\r\n${head}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
  () => `GET /api/v4/brokers HTTP/1.1\r\n${'a: b\r\n'.repeat(3_000)}\r\n`,
  () => `GET /api/v4/brokers HTTP/1.1\r\na: ${'b'.repeat(100_000)}\r\n\r\n`,
  () => `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n\r\n`,
  () => `GET /a\u0000b HTTP/1.1\r\n${head}\r\n`,
  () => `GET /api/v4/brokers HTTP/1.1\r\na b: c\r\n : d\r\n\r\n`,
  () => `GET /api/v4/brokers HTTP/1.1\r\n${head}\r\n`.repeat(50),
  () => Buffer.from([0x10, 0x0c, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 0, 0, 0]),
  () => Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0]),
  () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  (random) => Buffer.from(Array.from({ length: 1 + random.below(300) }, () => random.below(256))),
]

/** Time after which the fuzzer closes the connection. */
const timeoutMs = 50

/** Sends malformed HTTP, whole or in two parts, and disconnects. Returns the part of the response that arrived. */
export function sendBroken(port: number, random: Random): Promise<string> {
  const bytes = Buffer.from(random.pick(broken)(random))
  const cut = random.oneIn(3) ? random.below(bytes.length) : bytes.length
  const { promise, resolve } = Promise.withResolvers<string>()
  let received = ''
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(bytes.subarray(0, cut))
    setTimeout(() => socket.write(bytes.subarray(cut)), timeoutMs / 5)
  })
  const timer = setTimeout(() => socket.destroy(), timeoutMs)
  socket.on('data', (chunk) => (received += chunk.toString('latin1')))
  // The broker may also reset the connection.
  socket.on('error', () => {})
  socket.on('close', () => {
    clearTimeout(timer)
    resolve(received)
  })
  return promise
}
