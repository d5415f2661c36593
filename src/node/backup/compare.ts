// Compares two archives, or an archive and the running broker. Only a digest of each record is stored, so a million fit
// into memory; secrets are not shown.

import {
  type CheckedArchive,
  nameOfRecord,
  type TableName,
  tableNames,
  type TableRecord,
  writeRow,
} from '../../backup/index.ts'
import { mask, type PlainValue } from '../../config/index.ts'
import type { ArchiveDifference } from '../../management/index.ts'
import { configurationOf } from './check-file.ts'
import { markOf } from './import-preview.ts'

type TableDifference = ArchiveDifference['tables'][number]
type Counted = { -readonly [Key in keyof TableDifference]: TableDifference[Key] } & {
  examples: TableDifference['examples'][number][]
}

const maxExamples = 10

/** Takes all records of the first, then those of the second, then those of the first again. */
export class Comparison {
  /** By digest of the name: the digest of the record. */
  readonly #first = new Map<TableName, Map<number, number>>()
  readonly #tables = new Map<TableName, Counted>()

  takeFirst(table: TableName, record: TableRecord): void {
    let marks = this.#first.get(table)
    if (marks === undefined) {
      marks = new Map()
      this.#first.set(table, marks)
    }
    marks.set(markOf(nameOfRecord(record)), markOf(writeRow(table, record)))
  }

  takeSecond(table: TableName, record: TableRecord): void {
    const marks = this.#first.get(table)
    const name = markOf(nameOfRecord(record))
    const before = marks?.get(name)
    marks?.delete(name)
    if (before === undefined) this.#note(table, 'second', record)
    else if (before !== markOf(writeRow(table, record))) this.#note(table, 'both', record)
  }

  /** Those that are missing in the second remain. */
  takeFirstAgain(table: TableName, record: TableRecord): void {
    if (this.#first.get(table)?.delete(markOf(nameOfRecord(record))) === true) this.#note(table, 'first', record)
  }

  /** Returns whether the first must be taken again. */
  get hasMoreInFirst(): boolean {
    return [...this.#first.values()].some(({ size }) => size > 0)
  }

  /** Tables with differences. */
  get tables(): readonly TableDifference[] {
    return tableNames.flatMap((table) => this.#tables.get(table) ?? [])
  }

  #note(table: TableName, where: 'first' | 'second' | 'both', record: TableRecord): void {
    let counted = this.#tables.get(table)
    if (counted === undefined) {
      counted = { table, onlyInFirst: 0, onlyInSecond: 0, different: 0, examples: [] }
      this.#tables.set(table, counted)
    }
    counted[where === 'first' ? 'onlyInFirst' : where === 'second' ? 'onlyInSecond' : 'different']++
    if (counted.examples.length < maxExamples) counted.examples.push({ name: nameOfRecord(record), where })
  }
}

/** Returns the settings that differ, by key. */
export function configurationDifferences(
  first: PlainValue,
  second: PlainValue,
  isSecret: (key: string) => boolean,
): ArchiveDifference['configuration'] {
  const [one, other] = [settingsIn(first), settingsIn(second)]
  const keys = [...new Set([...one.keys(), ...other.keys()])].toSorted()
  return keys.flatMap((key) => {
    const [old, now] = [one.get(key), other.get(key)]
    if (old === now) return []
    const shown = (text: string | undefined): string | undefined =>
      text !== undefined && (isSecret(key) || secretKey.test(key)) ? JSON.stringify(mask) : text
    return [{ key, old: shown(old), new: shown(now) }]
  })
}

/** In archives of other versions, keys like these are secret. */
const secretKey = /password|secret|token/i

export function plainConfigurationOf(checked: CheckedArchive): PlainValue {
  const read = configurationOf(checked)
  return 'plain' in read ? (read.plain ?? {}) : {}
}

function settingsIn(value: PlainValue): Map<string, string> {
  const found = new Map<string, string>()
  const walk = (part: PlainValue, path: readonly string[]): void => {
    if (part === null || typeof part !== 'object' || Array.isArray(part)) {
      found.set(path.join('.'), JSON.stringify(part))
      return
    }
    for (const [key, inner] of Object.entries(part)) walk(inner, [...path, key])
  }
  walk(value, [])
  return found
}
