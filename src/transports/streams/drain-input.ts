// Waits until everything is read that the operating system has received for a socket. Node cannot ask for the number of unread
// bytes. But each poll of the event loop reads every readable socket, so a complete poll that brings no byte proves that there was none.
//
//   call ... end of the poll that is running | poll | poll without a byte: drained

import type { Socket } from 'node:net'

/** Polls without data after which nothing is unread: the first one may have begun before the call. */
const minQuietPolls = 2
/** Maximum bytes that are awaited. The operating system stores fewer, so the rest was sent after the call. */
export const maxDrainedBytes = 8_388_608
/** Interval of checks while reading is paused. */
const pausedCheckMs = 10
/** Maximum number of such checks: three seconds, the longest time that anything waits for this. */
const maxPausedChecks = 300

/** Calls `done` later. It is also called when the socket has closed, and when a limit is reached. */
export function drainInput(socket: Socket, done: () => void): void {
  const startBytes = socket.bytesRead
  let seenBytes = startBytes
  let quietPolls = 0
  let pausedChecks = 0
  const check = (): void => {
    const { bytesRead } = socket
    quietPolls = bytesRead === seenBytes ? quietPolls + 1 : 0
    seenBytes = bytesRead
    if (socket.destroyed || socket.readableEnded || bytesRead - startBytes >= maxDrainedBytes) return done()
    if (socket.isPaused()) {
      quietPolls = 0
      if (++pausedChecks > maxPausedChecks) return done()
      return void setTimeout(check, pausedCheckMs)
    }
    if (quietPolls >= minQuietPolls && socket.readableLength === 0) return done()
    setImmediate(check)
  }
  setImmediate(check)
}
