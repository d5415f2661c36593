// Answers to what is no request: bytes that are not HTTP, headers without end, expectations that nobody here meets. It
// looks like every other refusal, so that a client needs to know one form only.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { allowedMethods, refuseMethod } from './not-found.ts'
import { maxHeaderBytes } from './limits.ts'
import { bodyOfError, refuse } from './api-error.ts'

const reasons: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'the request did not come to its end in time',
}

/** So long what still comes is thrown away. */
const lingerMs = 1_000

export interface MalformedRequest {
  readonly code?: string | undefined
  /** What the parser gave up in. */
  readonly rawPacket?: unknown
}

/** The parser gave up on what came from `socket`. `headerBytes`: the limit of the request line and all headers. */
export function replyToMalformedRequest(
  { code, rawPacket }: MalformedRequest,
  socket: Duplex,
  headerBytes = maxHeaderBytes,
): void {
  // It has been answered already, and this is more of the same.
  if (socket.writableEnded) return
  // Nobody is there to hear it.
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const method = code === 'HPE_INVALID_METHOD' ? methodIn(rawPacket) : undefined
  const refusal = method === undefined ? refuse('invalidParameter', wordsOf(code, headerBytes)) : refuseMethod(method)
  const body = bodyOfError(refusal, code === 'HPE_HEADER_OVERFLOW' ? addressIn(rawPacket) : '')
  const head = [
    method === undefined ? 'HTTP/1.1 400 Bad Request' : `HTTP/1.1 405 Method Not Allowed\r\nAllow: ${allowedMethods}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Who is cut off amid sending would lose the answer.
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

/** So many bytes say which version of the API was meant. */
const addressBytes = 64

/** The beginning of the address in a packet that begins with a request; '' where it does not. */
function addressIn(packet: unknown): string {
  const line = Buffer.isBuffer(packet) ? packet.toString('latin1', 0, addressBytes) : ''
  return /^[A-Z]+ (\/\S*)/.exec(line)?.[1] ?? ''
}

function wordsOf(code: string | undefined, headerBytes: number): string {
  if (code === 'HPE_HEADER_OVERFLOW') return `address and headers are too long: maximum ${headerBytes} bytes`
  return reasons[code ?? ''] ?? 'this is not a request of HTTP/1.1'
}

const maxMethodLength = 32

/** Of a request that is one but for a method that HTTP does not have. */
function methodIn(packet: unknown): string | undefined {
  const [line = ''] = Buffer.isBuffer(packet) ? packet.toString('latin1').split('\r\n', 1) : []
  const [, method] = /^([A-Za-z-]+) \S+ HTTP\/1\.[01]$/.exec(line) ?? []
  return method === undefined || method.length > maxMethodLength ? undefined : method
}

/** The request expects something else than that it be read. */
export function replyToExpectation({ url = '/' }: IncomingMessage, response: ServerResponse): void {
  const body = bodyOfError(refuse('invalidParameter', 'the header Expect can only say 100-continue'), url)
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) }
  response.writeHead(400, { ...headers, connection: 'close' }).end(body)
}
