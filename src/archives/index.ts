// Entry point of the module archives: reads and writes gzip-compressed tar archives that come from outside.

export { type ArchiveForm, type ArchiveMember, readArchiveMembers, toArchiveFolder } from './archive-reader.ts'
export { writeArchive, type MemberToWrite } from './archive-writer.ts'
export { InvalidArchive, quoteText } from './invalid-archive.ts'
