import type { ByteStream } from '../../src/transports/index.ts'
import { Happenings } from './event-queue.ts'

/** Reads one chunk of a stream and pauses then. Reports that chunk, and `closed` with the error, if any. */
export function standStill(stream: ByteStream): Happenings<string> {
  const events = new Happenings<string>()
  stream.onData = (chunk) => {
    stream.pause()
    events.add(String(chunk))
  }
  stream.onClose = (error) => events.add(error === undefined ? 'closed' : `closed: ${error.message}`)
  return events
}
