// A sink whose unfinished calls end when it is closed, whatever its driver does: a restart of an action then sends again what the
// previous sink had not finished.

import type { Sink, WriteOutcome } from '../sink.ts'
import { stoppedReason } from './shared-connection.ts'

export function endCallsOnClose(sink: Sink): Sink {
  /** Ends the calls in progress. */
  const ends = new Set<() => void>()
  let isClosed = false

  const waitUntilClosed = <Result>(work: Promise<Result>, resultOfClosed: () => Result): Promise<Result> => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const end = (): void => resolve(resultOfClosed())
    ends.add(end)
    work.then(resolve, reject)
    return promise.finally(() => ends.delete(end))
  }

  return {
    write: (batch) => {
      const createRetryOutcomes = (): WriteOutcome[] => batch.map(() => ({ outcome: 'retry', why: stoppedReason }))
      return isClosed ? Promise.resolve(createRetryOutcomes()) : waitUntilClosed(sink.write(batch), createRetryOutcomes)
    },
    check: () => (isClosed ? Promise.resolve(stoppedReason) : waitUntilClosed(sink.check(), () => stoppedReason)),
    close: () => {
      isClosed = true
      sink.close()
      // The sink first reports what has been confirmed.
      setTimeout(() => {
        for (const end of ends) end()
      }, settleTimeoutMs)
    },
  }
}

/** More than an open connection takes to report what has been confirmed. */
const settleTimeoutMs = 200
