// Entry point of the module imports: files of other brokers become tables of an archive. What is not understood is named, never guessed.

export { type ConvertedMembers, toMembers } from './converted-tables.ts'
export type { LoginType } from './emqx4/emqx4-entries.ts'
export { convertEmqx4Export } from './emqx4/emqx4-export.ts'
export { convertAclFile } from './mosquitto/acl-file.ts'
export { type ConfigurationFile, listIncludedFolders, selectIncludedNames } from './mosquitto/configuration-lines.ts'
export { convertConfiguration } from './mosquitto/convert-configuration.ts'
export { convertDatabase } from './mosquitto/database.ts'
export { convertPasswordFile } from './mosquitto/password-file.ts'
export type { ImportedSession } from './mosquitto/sessions.ts'
