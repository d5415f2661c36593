// Replaces a file completely or not at all: the new text is on disk next to the old one before anything is decided.
//
//   stage()   FILE.new written and synced, FILE.bak is the old text      may fail: nothing has changed
//   commit()  FILE.new becomes FILE                                      may fail: nothing has changed
//   discard() FILE.new is deleted

import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** For the owner only. */
const fileMode = 0o600
const groupReads = 0o040

export interface StagedFile {
  commit(): Promise<void>
  discard(): Promise<void>
}

/** Rejects with the system's error. If the file is a link, its target is replaced. */
export async function stageFile(
  path: string,
  text: string,
  options: { readonly keepsOld: boolean },
): Promise<StagedFile> {
  const target = await realpath(path).catch(() => path)
  const old = await stat(target).catch(() => undefined)
  const fresh = `${target}.new`
  const discard = (): Promise<void> => rm(fresh, { force: true })
  try {
    // It may contain passwords. If the group could read the old file, that stays; other users never can.
    const mode = fileMode | ((old?.mode ?? 0) & groupReads)
    await writeSynced(fresh, text, mode)
    if (old !== undefined && options.keepsOld) await writeSynced(`${target}.bak`, await readFile(target), mode)
  } catch (error) {
    await discard()
    throw error
  }
  const commit = async (): Promise<void> => {
    await rename(fresh, target)
    await syncFolder(dirname(target))
  }
  return { commit, discard }
}

async function writeSynced(path: string, content: string | Buffer, mode: number): Promise<void> {
  // A leftover file or a link of an attacker must not be written to.
  await rm(path, { force: true })
  const file = await open(path, 'wx', mode)
  try {
    await file.writeFile(content)
    await file.chmod(mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes the new name durable. On systems that cannot sync folders, the system does it later. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}

/** Undefined: all are in place. Otherwise those that can be restored are. */
export async function commitAll(files: readonly StagedFile[]): Promise<{ readonly error: unknown } | undefined> {
  try {
    for (const file of files) await file.commit()
    return undefined
  } catch (error) {
    await discardAll(files)
    return { error }
  }
}

export async function discardAll(files: readonly StagedFile[]): Promise<void> {
  for (const file of files) await file.discard()
}
