// Exceptions of client libraries on the main thread, which only checks services: the check in progress fails by its time limit.

import { maskUrlSecrets } from '../../config/index.ts'
import { findFailedLibrary, formatError } from '../../sinks/index.ts'
import type { Log } from '../../telemetry/index.ts'

/**
 * Returns a function that logs an exception that nothing has caught. It returns false if the exception is not only of a client library:
 * then the state of the node may be invalid.
 */
export function createLibraryReporter(log: Pick<Log, 'warn'>): (error: unknown) => boolean {
  return (error) => {
    const library = findFailedLibrary(error)
    if (library === undefined) return false
    log.warn('library failed', { library, reason: maskUrlSecrets(formatError(error)) })
    return true
  }
}
