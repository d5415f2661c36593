// The body of a request, as far as it may be long. How long that is may change while the server runs; the framework's own
// reader has that from the start.

import type { IncomingMessage } from 'node:http'

/** Why a body was not taken, as the framework knows faults of a request. */
class BodyFault extends Error {
  readonly statusCode = 413
}

/** Rejects when it has more than `maxBytes`, said or sent, or when the client leaves before its end. */
export function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const tooLarge = (): void => reject(new BodyFault(`the body is too large: ${maxBytes} bytes are the most`))
  if (Number(message.headers['content-length'] ?? 0) > maxBytes) {
    tooLarge()
    return promise
  }
  const pieces: Buffer[] = []
  let bytes = 0
  const take = (piece: Buffer): void => {
    bytes += piece.length
    if (bytes <= maxBytes) return void pieces.push(piece)
    // What still comes is thrown away.
    message.off('data', take).resume()
    tooLarge()
  }
  message.on('data', take)
  message.once('end', () => resolve(Buffer.concat(pieces)))
  const breakOff = (): void => reject(new BodyFault('the body broke off'))
  message.once('error', breakOff).once('close', breakOff)
  return promise
}
