// Entry point of the module backup: the format of archives. The node reads and writes their content.

export { checkArchive, type CheckedArchive, configurationMember, parseRecordLine } from './check-archive.ts'
export { findArchiveProblem } from './find-archive-problem.ts'
export { readLines } from './read-lines.ts'
export { archiveLimits } from './backup-limits.ts'
export { toBackupForm } from './backup-form.ts'
export { type MemberDigest, metaMember, ownFormat, ownProduct, type Profile, writeMeta } from './meta.ts'
export {
  accountTables,
  guardedTables,
  type PluginBackupRecord,
  kindOfTable,
  toTableMember,
  formatRecordName,
  tableNames,
  type TableName,
  findMemberTable,
  type TableRecord,
  tableSets,
} from './tables.ts'
export { readRow, writeRow } from './table-rows.ts'
