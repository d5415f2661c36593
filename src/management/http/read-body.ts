// Reads the body of a request within a limit that may change while the server runs; the limit of Fastify cannot.

import type { IncomingMessage } from 'node:http'

/** Error that Fastify answers with the status 413. */
class BodyError extends Error {
  readonly statusCode = 413
}

/**
 * A body that is too large is read and discarded before the response, up to this multiple of its limit. Most HTTP
 * clients read no response before they have sent everything, and would see a broken connection.
 */
const drainedPerLimit = 64

/** Initial size of the buffer. */
const firstBytes = 1_024

/** Reads the body. Rejects if it has more than `maxBytes`, announced or sent, or if the client disconnects before its end. */
export function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const rejectIncomplete = (): void => reject(new BodyError('the client disconnected before the end of the body'))
  message.once('error', rejectIncomplete).once('close', rejectIncomplete)
  const rejectTooLarge = (): void => reject(new BodyError(`request body too large: maximum ${maxBytes} bytes`))
  const maxDrainedBytes = maxBytes * drainedPerLimit
  const discardRest = (): void => {
    let drained = 0
    message.on('data', (piece: Buffer) => {
      drained += piece.length
      if (drained > maxDrainedBytes) rejectTooLarge()
    })
    message.once('end', rejectTooLarge)
  }
  const announcedBytes = Number(message.headers['content-length'] ?? 0)
  if (announcedBytes > maxBytes) {
    if (announcedBytes > maxDrainedBytes) rejectTooLarge()
    else discardRest()
    return promise
  }
  // One buffer that doubles: a body sent byte by byte uses no more memory than one sent at once.
  let gathered = Buffer.allocUnsafe(Math.min(firstBytes, maxBytes))
  let bytes = 0
  const take = (piece: Buffer): void => {
    const end = bytes + piece.length
    if (end > maxBytes) {
      message.off('data', take).off('end', complete)
      return discardRest()
    }
    if (end > gathered.length) {
      const larger = Buffer.allocUnsafe(Math.min(Math.max(end, gathered.length * 2), maxBytes))
      gathered.copy(larger, 0, 0, bytes)
      gathered = larger
    }
    piece.copy(gathered, bytes)
    bytes = end
  }
  const complete = (): void => resolve(gathered.subarray(0, bytes))
  message.on('data', take)
  message.once('end', complete)
  return promise
}
