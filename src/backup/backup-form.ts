// The form that an archive with a backup must have.

import type { ArchiveForm } from '../archives/index.ts'
import { archiveLimits } from './backup-limits.ts'

const emqx4ExportText =
  'it is a JSON file, as EMQX 4 exports it: make an archive of it with "godwit ctl data convert FILE" and import that'

/** `folder`: the first level that all names in the archive must have. It follows from the name of the file. */
export function toBackupForm(folder: string): ArchiveForm {
  const { maxMembers, maxBytes, maxPaddingBytes } = archiveLimits
  return { folder, maxMembers, maxBytes, maxPaddingBytes, jsonProblem: emqx4ExportText }
}
