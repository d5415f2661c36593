// The body of a request, as far as it may be long. How long that is may change while the server runs; the framework's own
// reader has that from the start.

import type { IncomingMessage } from 'node:http'

/** Why a body was not taken, as the framework knows faults of a request. */
class BodyFault extends Error {
  readonly statusCode = 413
}

/** First size of the buffer that a body is gathered in. */
const firstBytes = 1_024

/** Rejects when it has more than `maxBytes`, said or sent, or when the client leaves before its end. */
export function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const tooLarge = (): void => reject(new BodyFault(`the body is too large: ${maxBytes} bytes are the most`))
  if (Number(message.headers['content-length'] ?? 0) > maxBytes) {
    tooLarge()
    return promise
  }
  // One buffer that doubles: a body sent byte by byte takes no more memory than one sent whole.
  let gathered = Buffer.allocUnsafe(Math.min(firstBytes, maxBytes))
  let bytes = 0
  const take = (piece: Buffer): void => {
    const end = bytes + piece.length
    if (end > maxBytes) {
      // What still comes is thrown away.
      message.off('data', take).resume()
      return tooLarge()
    }
    if (end > gathered.length) {
      const larger = Buffer.allocUnsafe(Math.min(Math.max(end, gathered.length * 2), maxBytes))
      gathered.copy(larger, 0, 0, bytes)
      gathered = larger
    }
    piece.copy(gathered, bytes)
    bytes = end
  }
  message.on('data', take)
  message.once('end', () => resolve(gathered.subarray(0, bytes)))
  const breakOff = (): void => reject(new BodyFault('the body broke off'))
  message.once('error', breakOff).once('close', breakOff)
  return promise
}
