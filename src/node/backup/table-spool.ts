// Tables for an archive. An archive contains the length of each member before the member, and the length of a table is unknown before its
// last record. So the lines are first written to a file of the backup directory.
//
//   records ──► lines ──► │ accounts │ credentials │ ... │ retained-messages │ ──► archive

import { createHash, type Hash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { type MemberToWrite } from '../../archives/index.ts'
import { toTableMember, type TableName, type TableRecord, writeRow } from '../../backup/index.ts'
import { ScanBudget } from '../records/record-scan.ts'
import { readPieces, writeAt } from './open-file.ts'

/** Written at once. */
const pieceCharacters = 262_144

export interface SpooledTable {
  readonly member: MemberToWrite
  readonly sha256: string
  readonly count: number
}

export class TableSpool {
  readonly #handle: FileHandle
  readonly #budget = new ScanBudget()
  #end = 0

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** Takes a whole table. `onCount` is called from time to time with the number of its records. */
  async add(
    table: TableName,
    records: Iterable<TableRecord> | AsyncIterable<TableRecord>,
    onCount: (count: number) => void,
  ): Promise<SpooledTable> {
    const start = this.#end
    const hash = createHash('sha256')
    let lines = ''
    let count = 0
    for await (const record of records) {
      lines += writeRow(table, record)
      count++
      if (lines.length >= pieceCharacters) {
        await this.#write(lines, hash)
        lines = ''
        onCount(count)
      }
      if (this.#budget.isExhausted()) await this.#budget.pause()
    }
    await this.#write(lines, hash)
    onCount(count)
    const bytes = this.#end - start
    const readContent = (): AsyncIterable<Buffer> => readPieces(this.#handle, start, start + bytes)
    const member = { name: toTableMember(table), bytes, readContent }
    return { member, sha256: hash.digest('hex'), count }
  }

  async #write(lines: string, hash: Hash): Promise<void> {
    const piece = Buffer.from(lines)
    hash.update(piece)
    await writeAt(this.#handle, piece, this.#end)
    this.#end += piece.length
  }
}
