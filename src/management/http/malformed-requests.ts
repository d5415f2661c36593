// Responses to invalid requests: bytes that are not HTTP, headers without end, unsupported expectations. They have the
// form of all other refusals.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { allowedMethods, refuseMethod } from './not-found.ts'
import { maxHeaderBytes } from './http-limits.ts'
import { formatErrorBody, refuse } from './api-error.ts'

const reasons: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'the request did not come to its end in time',
}

/** Time for which further data is discarded. */
const lingerMs = 1_000

export interface MalformedRequest {
  readonly code?: string | undefined
  /** The packet that the parser rejected. */
  readonly rawPacket?: unknown
}

/** The parser rejected data from `socket`. `headerBytes`: limit of the request line and all headers. */
export function replyToMalformedRequest(
  { code, rawPacket }: MalformedRequest,
  socket: Duplex,
  headerBytes = maxHeaderBytes,
): void {
  // A response was sent already, and this is the rest of the request.
  if (socket.writableEnded) return
  // The client has disconnected.
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const method = code === 'HPE_INVALID_METHOD' ? findUnknownMethod(rawPacket) : undefined
  const refusal =
    method === undefined ? refuse('invalidParameter', describeParseError(code, headerBytes)) : refuseMethod(method)
  const body = formatErrorBody(refusal, code === 'HPE_HEADER_OVERFLOW' ? findPath(rawPacket) : '')
  const head = [
    method === undefined ? 'HTTP/1.1 400 Bad Request' : `HTTP/1.1 405 Method Not Allowed\r\nAllow: ${allowedMethods}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // A client that is disconnected while it sends would lose the response.
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

/** These bytes show the requested version of the API. */
const addressBytes = 64

/** Returns the start of the path in a packet with a request; '' if there is none. */
function findPath(packet: unknown): string {
  const line = Buffer.isBuffer(packet) ? packet.toString('latin1', 0, addressBytes) : ''
  return /^[A-Z]+ (\/\S*)/.exec(line)?.[1] ?? ''
}

function describeParseError(code: string | undefined, headerBytes: number): string {
  if (code === 'HPE_HEADER_OVERFLOW') return `address and headers are too long: maximum ${headerBytes} bytes`
  return reasons[code ?? ''] ?? 'this is not a request of HTTP/1.1'
}

const maxMethodLength = 32

/** Returns the unknown method of an otherwise valid request. */
function findUnknownMethod(packet: unknown): string | undefined {
  const [line = ''] = Buffer.isBuffer(packet) ? packet.toString('latin1').split('\r\n', 1) : []
  const [, method] = /^([A-Za-z-]+) \S+ HTTP\/1\.[01]$/.exec(line) ?? []
  return method === undefined || method.length > maxMethodLength ? undefined : method
}

/** The request has an unsupported Expect header. */
export function replyToExpectation({ url = '/' }: IncomingMessage, response: ServerResponse): void {
  const body = formatErrorBody(refuse('invalidParameter', 'the header Expect supports only 100-continue'), url)
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) }
  response.writeHead(400, { ...headers, connection: 'close' }).end(body)
}
