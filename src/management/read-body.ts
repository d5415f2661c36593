// The body of a request, as far as it may be long. How long that is may change while the server runs; the framework's own
// reader has that from the start.

import type { IncomingMessage } from 'node:http'

/** Why a body was not taken, as the framework knows faults of a request. */
class BodyError extends Error {
  readonly statusCode = 413
}

/**
 * A body that is too large is read and discarded before the answer, up to so many times its limit. Most HTTP clients read no
 * answer before they have sent all, and would see a broken connection instead.
 */
const drainedPerLimit = 64

/** First size of the buffer that a body is gathered in. */
const firstBytes = 1_024

/** Rejects when it has more than `maxBytes`, said or sent, or when the client leaves before its end. */
export function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const breakOff = (): void => reject(new BodyError('the body broke off'))
  message.once('error', breakOff).once('close', breakOff)
  const tooLarge = (): void => reject(new BodyError(`the body is too large: ${maxBytes} bytes are the most`))
  const maxDrainedBytes = maxBytes * drainedPerLimit
  const discardRest = (): void => {
    let drained = 0
    message.on('data', (piece: Buffer) => {
      drained += piece.length
      if (drained > maxDrainedBytes) tooLarge()
    })
    message.once('end', tooLarge)
  }
  const announcedBytes = Number(message.headers['content-length'] ?? 0)
  if (announcedBytes > maxBytes) {
    if (announcedBytes > maxDrainedBytes) tooLarge()
    else discardRest()
    return promise
  }
  // One buffer that doubles: a body sent byte by byte takes no more memory than one sent whole.
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
