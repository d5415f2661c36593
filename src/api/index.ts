// Entry point of the module api: the operations of the management API, one folder for each subject.

export { StoredAccounts } from './accounts/stored-accounts.ts'
export type { NodeParts } from './context/api-context.ts'
export { type ShutdownRequest, ShutdownRequests } from './control/control.ts'
export { endpoints } from './endpoints.ts'
export { createHandlerFactory } from './handlers.ts'
