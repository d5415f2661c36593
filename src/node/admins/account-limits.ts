import type { AccessRecords } from '../records/stored-access-records.ts'

/** Maximum number of accounts and API keys of one node, together. */
export const maxAdmins = 10_000

/** Returns how many accounts and API keys there are. */
export function countAdmins(records: Pick<AccessRecords, 'list'>): number {
  return [...records.list('account'), ...records.list('api-key')].length
}
