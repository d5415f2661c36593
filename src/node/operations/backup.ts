// Backups of this node: files in its backup directory, and what is made of them.

import { pipeline } from 'node:stream/promises'
import type { Readable } from 'node:stream'
import type { BackupFile, BackupOperations, BackupRefusal, BackupScope } from '../../management/index.ts'
import { BackupFolder, refusal } from '../backup/backup-folder.ts'

/** What of the node backups are made of. */
export interface BackupGround {
  /** Absolute. */
  readonly dataDirectory: string
  readonly nodeName: string
}

export function backupOperations({ dataDirectory, nodeName }: BackupGround): BackupOperations {
  const folder = new BackupFolder(dataDirectory, nodeName)
  return {
    nodeName,
    list: async (scope, { page, limit }) => {
      const files = await folder.list(scope)
      if ('symbol' in files) return files
      return { items: files.slice((page - 1) * limit, page * limit), count: files.length }
    },
    read: async (scope, filename) => {
      const opened = await folder.open(scope, filename)
      if ('symbol' in opened) return opened
      return { file: opened.file, content: opened.handle.createReadStream({ start: 0 }) }
    },
    receive: (scope, filename, content) => receive(folder, scope, filename, content),
    remove: (scope, filename) => folder.remove(scope, filename),
    export: async () => notYet,
    import: async () => notYet,
    verify: async () => notYet,
    diff: async () => notYet,
    progress: () => undefined,
  }
}

const notYet = refusal('INTERNAL_ERROR', 'this node makes and reads no archives')

async function receive(
  folder: BackupFolder,
  scope: BackupScope,
  filename: string,
  content: Readable,
): Promise<BackupFile | BackupRefusal> {
  const unfinished = await folder.begin(scope, filename)
  if ('symbol' in unfinished) {
    content.destroy()
    return unfinished
  }
  try {
    await pipeline(content, unfinished.handle.createWriteStream({ autoClose: false, start: 0 }))
    return await unfinished.publish()
  } finally {
    await unfinished.discard()
  }
}
