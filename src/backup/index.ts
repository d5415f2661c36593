// Entry point of the module backup: the format of archives. The node reads and writes their content.

export { archiveMembers, folderOfArchive } from './archive-reader.ts'
export { writeArchive, type MemberToWrite } from './archive-writer.ts'
export { InvalidArchive } from './invalid-archive.ts'
export { checkArchive, type CheckedArchive, configurationMember, recordIn } from './check-archive.ts'
export { problemOfArchive } from './foreign-archive.ts'
export { linesOf } from './json-lines.ts'
export { archiveLimits } from './limits.ts'
export { type MemberDigest, metaMember, ownFormat, ownProduct, type Profile, writeMeta } from './meta.ts'
export { convertEmqx4Export } from './emqx4/emqx4-export.ts'
export type { LoginType } from './emqx4/emqx4-entries.ts'
export { type ConvertedMembers, membersOf } from './converted-tables.ts'
export { convertAclFile } from './mosquitto/acl-file.ts'
export { convertConfiguration } from './mosquitto/configuration.ts'
export { type ConfigurationFile, includedFolders, includedNames } from './mosquitto/configuration-lines.ts'
export { convertDatabase } from './mosquitto/database.ts'
export type { ImportedSession } from './mosquitto/sessions.ts'
export { convertPasswordFile } from './mosquitto/password-file.ts'
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
  writeRow,
} from './tables.ts'
