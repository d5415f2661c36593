// Entry point of the module records: all stored records as values (sessions, messages, access records, accounts).

export * from './access-records.ts'
export * from './admin-records.ts'
export * from './records.ts'
