import type { ByteStream } from '../../src/transports/index.ts'
import { EventQueue } from './event-queue.ts'

/** Reads one chunk of a stream and pauses then. Reports that chunk, and `closed` with the error, if any. */
export function standStill(stream: ByteStream): EventQueue<string> {
  const events = new EventQueue<string>()
  stream.onData = (chunk) => {
    stream.pause()
    events.add(String(chunk))
  }
  stream.onClose = (error) => events.add(error === undefined ? 'closed' : `closed: ${error.message}`)
  return events
}
