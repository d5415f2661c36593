import type { ByteStream } from '../../src/transports/index.ts'
import { Happenings } from './event-queue.ts'

/** Takes one chunk of a stream and stands still from then on. Tells of that chunk, and `closed`, with what was wrong if anything was. */
export function standStill(stream: ByteStream): Happenings<string> {
  const heard = new Happenings<string>()
  stream.onData = (chunk) => {
    stream.pause()
    heard.add(String(chunk))
  }
  stream.onClose = (error) => heard.add(error === undefined ? 'closed' : `closed: ${error.message}`)
  return heard
}
