// Entry point of the module backup: the format of archives. The node reads and writes their content.

export { archiveMembers, folderOfArchive } from './archive-reader.ts'
export { writeArchive, type MemberToWrite } from './archive-writer.ts'
export { InvalidArchive, quoteText } from './invalid-archive.ts'
export { checkArchive, type CheckedArchive, configurationMember, recordIn } from './check-archive.ts'
export { problemOfArchive } from './foreign-archive.ts'
export { linesOf } from './json-lines.ts'
export { archiveLimits } from './limits.ts'
export { type MemberDigest, metaMember, ownFormat, ownProduct, type Profile, writeMeta } from './meta.ts'
export {
  accountTables,
  kindOfTable,
  memberOfTable,
  nameOfRecord,
  tableNames,
  type TableName,
  tableOfMember,
  type TableRecord,
  tableSets,
} from './tables.ts'
export { readRow, writeRow } from './table-rows.ts'
