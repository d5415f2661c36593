// The connection of a fuzzing client: TCP, or WebSocket frames that the test encodes, so that they can be malformed, too.

import { connect, type Socket } from 'node:net'
import type { Random } from '../protocol/fuzz/random.ts'
import { maxPieces, type FuzzSession } from './fuzz-session.ts'

export interface FuzzPorts {
  readonly tcp: number
  /** Undefined: the listener is not fuzzed. */
  readonly ws: { readonly port: number; readonly path: string } | undefined
}

/** The broker disconnects a silent client; if it does not, the client closes after this time. */
const lingerMs = 4_000
const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** Sends the session. Resolves when the socket is closed, by either side. */
export async function runSession(session: FuzzSession, ports: FuzzPorts, random: Random): Promise<void> {
  const overWs = ports.ws !== undefined && random.oneIn(2)
  const socket = connect({ host: '127.0.0.1', port: overWs && ports.ws !== undefined ? ports.ws.port : ports.tcp })
  // The broker may reset the connection of a client that violates the protocol; other checks detect failures of the broker.
  socket.on('error', () => socket.destroy())
  if (!session.isPaused) socket.resume()
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
  })
  if (overWs && ports.ws !== undefined) socket.write(upgrade(ports.ws.path, random))
  for (const chunk of session.chunks) {
    if (socket.destroyed) break
    const isTaken = socket.write(overWs ? framesOf(chunk, random) : chunk)
    // The broker may pause reading from a client that does not read; then this client stops sending.
    if (!isTaken && session.isPaused) break
    await nextTurn()
  }
  if (overWs && random.oneIn(4)) socket.write(frame(opcodes.close, Buffer.from([3, 232]), random))
  disconnect(socket, session)
  await closed
}

function disconnect(socket: Socket, session: FuzzSession): void {
  if (session.disconnectKind === 'end') socket.end()
  if (session.disconnectKind === 'destroy') socket.destroy()
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
}

function upgrade(path: string, random: Random): string {
  const right = [
    `GET ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${Buffer.alloc(16, random.below(256)).toString('base64')}`,
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Protocol: mqtt',
  ]
  if (random.oneIn(20)) right.splice(random.below(right.length), 1)
  if (random.oneIn(20)) right.push('Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits')
  if (random.oneIn(40)) right.push(`X-Long: ${'y'.repeat(20_000)}`)
  return `${right.join('\r\n')}\r\n\r\n`
}

/** The bytes in one or more frames. Some are followed by a ping, a text frame, or a frame that RFC 6455 forbids. */
function framesOf(bytes: Buffer, random: Random): Buffer {
  const parts: Buffer[] = []
  const wanted = random.pick([Infinity, Infinity, 1 + random.below(200)])
  const pieceBytes = Math.max(wanted, Math.ceil(bytes.length / maxPieces))
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    parts.push(frame(opcodes.binary, bytes.subarray(at, Math.min(bytes.length, at + pieceBytes)), random))
    if (random.oneIn(30)) parts.push(unexpectedFrame(random))
  }
  return Buffer.concat(parts)
}

function unexpectedFrame(random: Random): Buffer {
  switch (random.below(7)) {
    case 0:
      return frame(opcodes.text, Buffer.from('text'), random)
    case 1:
      return frame(opcodes.continuation, Buffer.from('rest'), random)
    case 2:
      return Buffer.concat(Array.from({ length: 500 }, () => frame(opcodes.ping, Buffer.alloc(100), random)))
    case 3:
      return frame(opcodes.ping, Buffer.alloc(126 + random.below(1_000)), random)
    case 4: // 2^62 bytes are announced.
      return Buffer.from([0x82, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5])
    case 5: // Not masked, with reserved bits.
      return Buffer.from([0x80 | random.below(128), random.below(126), 1, 2, 3])
    default:
      return frame(random.below(16), Buffer.alloc(random.below(20)), random)
  }
}

function frame(opcode: number, payload: Buffer, random: Random): Buffer {
  const mask = Buffer.from([random.below(256), random.below(256), random.below(256), random.below(256)])
  const masked = Buffer.from(payload.map((byte, index) => byte ^ mask[index & 3]))
  return Buffer.concat([Buffer.from([0x80 | opcode]), lengthOf(payload.length), mask, masked])
}

function lengthOf(bytes: number): Buffer {
  if (bytes < 126) return Buffer.from([0x80 | bytes])
  if (bytes < 65_536) return Buffer.from([0x80 | 126, bytes >> 8, bytes & 255])
  const long = Buffer.alloc(9)
  long[0] = 0x80 | 127
  long.writeBigUInt64BE(BigInt(bytes), 1)
  return long
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
