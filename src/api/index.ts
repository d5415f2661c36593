// Entry point of the module api: the operations of the management API, one folder for each subject.

export { accountOperations } from './accounts/account-operations.ts'
export type { NodeBackups } from './backup/backup-operations.ts'
export type { BackupOperations } from './backup/backup.ts'
export { type ShutdownRequest, shutdownRequests } from './control/shutdown-requests.ts'
export { operationsOf } from './create-operations.ts'
export { endpoints } from './endpoints.ts'
export { handlersFor } from './handlers.ts'
export type { Operations } from './operations.ts'
