// Reads and checks an archive file completely.

import type { FileHandle } from 'node:fs/promises'
import { InvalidArchive, toArchiveFolder } from '../../archives/index.ts'
import {
  accountTables,
  archiveLimits,
  checkArchive,
  type CheckedArchive,
  type TableName,
  type TableRecord,
} from '../../backup/index.ts'
import { parseHocon, type PlainValue, toPlain } from '../../config/index.ts'
import { type BackupRefusal, quoteName, createRefusal } from './backup-folder.ts'
import { ScanBudget } from '../records/record-scan.ts'
import { readPieces } from './open-file.ts'

export interface OpenArchive {
  readonly handle: FileHandle
  readonly filename: string
}

export interface CheckPlan {
  /** Maximum packet size of this broker. */
  readonly maxPacketBytes: number
  readonly onRecord?: (table: TableName, record: TableRecord) => void
  readonly onProgress?: (part: string, done: number, total?: number) => void
}

/** Returns its contents, or why it is invalid. The handle stays open. */
export async function checkFile(
  { handle, filename }: OpenArchive,
  { maxPacketBytes, onRecord, onProgress }: CheckPlan,
): Promise<CheckedArchive | BackupRefusal> {
  const budget = new ScanBudget()
  try {
    return await checkArchive(readPieces(handle), {
      folder: toArchiveFolder(filename),
      maxLineBytes: computeMaxLineBytes(maxPacketBytes),
      ...(onRecord === undefined ? {} : { onRecord }),
      onPiece: (table, count, total) => {
        onProgress?.(table, count, total)
        return budget.isExhausted() ? budget.pause() : undefined
      },
    })
  } catch (error) {
    if (!(error instanceof InvalidArchive)) throw error
    return createRefusal('BAD_REQUEST', `${quoteName(filename)} is not a valid archive: ${error.message}`)
  }
}

/** A payload is in base64. */
export function computeMaxLineBytes(maxPacketBytes: number): number {
  const needed = Math.ceil(maxPacketBytes / 3) * 4 + archiveLimits.maxLineBytesWithoutPayload
  return Math.min(archiveLimits.maxLineBytes, needed)
}

/** The configuration in an archive. undefined: none. */
export function parseConfiguration({
  configuration,
}: Pick<CheckedArchive, 'configuration'>):
  | { readonly plain: Readonly<Record<string, PlainValue>> | undefined }
  | { readonly problem: string } {
  if (configuration === undefined) return { plain: undefined }
  const parsed = parseHocon(configuration, { file: 'cluster.hocon' })
  if ('errors' in parsed) {
    const [error] = parsed.errors
    return { problem: `cluster.hocon cannot be read: line ${error?.line ?? 0}: ${error?.message ?? ''}` }
  }
  return { plain: toPlain(parsed.value) as Readonly<Record<string, PlainValue>> }
}

const accountKeys = ['username', 'password', 'auth_type', 'jwt']

/** Names of the parts that require the right to manage accounts. */
export function listAccountSets(archive: Pick<CheckedArchive, 'counts' | 'configuration'>): readonly string[] {
  const sets = accountTables
    .filter((table) => (archive.counts.get(table) ?? 0) > 0)
    .map((table) => (table === 'accounts' ? 'dashboard_users' : 'api_keys'))
  const configuration = parseConfiguration(archive)
  const server = 'plain' in configuration ? configuration.plain?.['http_server'] : undefined
  const hasAccounts = typeof server === 'object' && server !== null && accountKeys.some((key) => key in server)
  return hasAccounts ? [...sets, 'http_server'] : sets
}
