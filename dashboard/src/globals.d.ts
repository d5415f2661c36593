import type { OperationTable } from '../../src/contract/fetch-client.ts'

declare global {
  /** Put in by the build. */
  const OPERATIONS: OperationTable
}
