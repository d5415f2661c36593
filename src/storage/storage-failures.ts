// Which errors are the disk's and which are ours.

import { StorageFailure } from './store.ts'

/** Does the error come from the database or the file system, and not from a mistake of ours? */
export function isDatabaseError(error: unknown): error is Error {
  if (!(error instanceof Error) || !('code' in error)) return false
  return typeof error.code === 'string' && !error.code.startsWith('ERR_')
}

/** A StorageFailure that says what was tried; a mistake of ours as it is. */
export function toStorageFailure(what: string, error: unknown): unknown {
  if (error instanceof StorageFailure) return new StorageFailure(`${what}: ${error.message}`)
  if (!isDatabaseError(error)) return error
  return new StorageFailure(`${what}: ${error.message}`, { cause: error })
}
