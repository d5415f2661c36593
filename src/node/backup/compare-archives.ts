// Compares two archives, or an archive and the running broker. Only digests of the records are stored, so a million records fit
// into memory. Secrets are not shown.

import {
  type CheckedArchive,
  formatRecordName,
  type TableName,
  tableNames,
  type TableRecord,
  writeRow,
} from '../../backup/index.ts'
import { mask, maskUrlSecrets, type PlainValue } from '../../config/index.ts'
import { parseConfiguration } from './check-file.ts'
import type { ConfigurationChange } from './preview-changes.ts'
import { computeDigest } from './import/import-preview.ts'

/** Differences between an archive and another one, or the running broker. Names only, no secrets. */
export interface ArchiveDifference {
  readonly tables: readonly {
    readonly table: string
    readonly onlyInFirst: number
    readonly onlyInSecond: number
    readonly different: number
    /** The first entries that differ. */
    readonly examples: readonly { readonly name: string; readonly where: 'first' | 'second' | 'both' }[]
  }[]
  readonly configuration: readonly Omit<ConfigurationChange, 'needsRestart'>[]
}

type TableDifference = ArchiveDifference['tables'][number]
type MutableTableDifference = { -readonly [Key in keyof TableDifference]: TableDifference[Key] } & {
  examples: TableDifference['examples'][number][]
}

const maxExamples = 10

/**
 * Finds the differences of two archives in three passes: call `addFirst` for all records of the first archive, then `addSecond` for
 * those of the second one. If `needsThirdPass`, call `addFirstAgain` for all records of the first one, to find the names of those
 * that the second one does not have.
 */
export class Comparison {
  /** Records of the first archive without a counterpart so far: digest of the name -> digest of the record. */
  readonly #unmatched = new Map<TableName, Map<number, number>>()
  readonly #tables = new Map<TableName, MutableTableDifference>()

  addFirst(table: TableName, record: TableRecord): void {
    let digests = this.#unmatched.get(table)
    if (digests === undefined) {
      digests = new Map()
      this.#unmatched.set(table, digests)
    }
    digests.set(computeDigest(formatRecordName(record)), computeDigest(writeRow(table, record)))
  }

  addSecond(table: TableName, record: TableRecord): void {
    const digests = this.#unmatched.get(table)
    const name = computeDigest(formatRecordName(record))
    const before = digests?.get(name)
    digests?.delete(name)
    if (before === undefined) this.#count(table, 'second', record)
    else if (before !== computeDigest(writeRow(table, record))) this.#count(table, 'both', record)
  }

  addFirstAgain(table: TableName, record: TableRecord): void {
    if (this.#unmatched.get(table)?.delete(computeDigest(formatRecordName(record))) === true)
      this.#count(table, 'first', record)
  }

  /** True if the second archive lacks records of the first one. */
  get needsThirdPass(): boolean {
    return [...this.#unmatched.values()].some(({ size }) => size > 0)
  }

  /** The tables that differ. */
  get tables(): readonly TableDifference[] {
    return tableNames.flatMap((table) => this.#tables.get(table) ?? [])
  }

  #count(table: TableName, where: 'first' | 'second' | 'both', record: TableRecord): void {
    let difference = this.#tables.get(table)
    if (difference === undefined) {
      difference = { table, onlyInFirst: 0, onlyInSecond: 0, different: 0, examples: [] }
      this.#tables.set(table, difference)
    }
    difference[where === 'first' ? 'onlyInFirst' : where === 'second' ? 'onlyInSecond' : 'different']++
    if (difference.examples.length < maxExamples) difference.examples.push({ name: formatRecordName(record), where })
  }
}

/** Returns the settings that differ, by key. */
export function compareConfigurations(
  first: PlainValue,
  second: PlainValue,
  isSecret: (key: string) => boolean,
): ArchiveDifference['configuration'] {
  const [one, other] = [listSettings(first), listSettings(second)]
  const keys = [...new Set([...one.keys(), ...other.keys()])].toSorted()
  return keys.flatMap((key) => {
    const [old, now] = [one.get(key), other.get(key)]
    if (old === now) return []
    const maskValue = (text: string | undefined): string | undefined =>
      text === undefined
        ? undefined
        : isSecret(key) || secretKey.test(key)
          ? JSON.stringify(mask)
          : maskUrlSecrets(text)
    return [{ key, old: maskValue(old), new: maskValue(now) }]
  })
}

/** Keys of secrets in archives of other versions: their settings may be unknown here. */
const secretKey = /password|secret|token/i

export function readPlainConfiguration(checked: CheckedArchive): PlainValue {
  const read = parseConfiguration(checked)
  return 'plain' in read ? (read.plain ?? {}) : {}
}

/** Returns the values of all settings as JSON, by their dotted key. */
function listSettings(value: PlainValue): Map<string, string> {
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
