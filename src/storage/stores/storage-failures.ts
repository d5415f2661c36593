// Distinguishes errors of the disk from internal errors.

import { StorageFailure } from '../store.ts'

/** Returns whether the error comes from the database or the file system, not from a defect in the code. */
export function isDatabaseError(error: unknown): error is Error {
  if (!(error instanceof Error) || !('code' in error)) return false
  return typeof error.code === 'string' && !error.code.startsWith('ERR_')
}

/** Returns a StorageFailure that says what was tried; an internal error is returned unchanged. */
export function toStorageFailure(message: string, error: unknown): unknown {
  if (error instanceof StorageFailure) return new StorageFailure(`${message}: ${error.message}`)
  if (!isDatabaseError(error)) return error
  return new StorageFailure(`${message}: ${error.message}`, { cause: error })
}
