// Everything that is stored, as values: sessions and messages, access records, accounts. `storage` turns them into bytes.

export * from './access-records.ts'
export * from './admin-records.ts'
export * from './records.ts'
