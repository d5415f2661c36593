// Entry point of the module backup: the format of archives. The node reads and writes their content.

export { readArchiveMembers, toArchiveFolder } from './archive-reader.ts'
export { writeArchive, type MemberToWrite } from './archive-writer.ts'
export { InvalidArchive, quoteText } from './invalid-archive.ts'
export { checkArchive, type CheckedArchive, configurationMember, parseRecordLine } from './check-archive.ts'
export { findArchiveProblem } from './find-archive-problem.ts'
export { readLines } from './read-lines.ts'
export { archiveLimits } from './backup-limits.ts'
export { type MemberDigest, metaMember, ownFormat, ownProduct, type Profile, writeMeta } from './meta.ts'
export {
  accountTables,
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
