// Damages one store and checks the result.

import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { StoredRecord } from '../../../src/records/index.ts'
import { Random } from '../../simulator/random.ts'
import { readEverything } from '../../storage/read-all.ts'
import { damages } from './damages.ts'
import { isOneOf, leaveStore, nameOf, openStore, type LeftStore } from './prepared-store.ts'

export interface RoundEnd {
  /** Violated rules. */
  readonly faults: readonly string[]
  readonly lost: number
  readonly restored: number
  readonly exported: number
  readonly alarms: readonly string[]
}

/** All files of the store, and the files next to it. */
export function filesOf({ directory }: LeftStore): string[] {
  const inside = readdirSync(directory).filter((name) => name !== 'LOCK')
  return [...inside.map((name) => join(directory, name)), `${directory}.batches`]
}

/** Creates a store in its own directory in `folder`. */
export function createStore(folder: string, seed: number): Promise<LeftStore> {
  return leaveStore(join(folder, String(seed), 'store'), new Random(seed), seed % 2 === 0 ? 'closed' : 'killed')
}

/** Damages a copy of a store. */
export async function checkDamage(left: LeftStore, file: string, damage: string, seed: number): Promise<RoundEnd> {
  const folder = `${dirname(left.directory)}-damaged`
  rmSync(folder, { recursive: true, force: true })
  cpSync(dirname(left.directory), folder, { recursive: true })
  const directory = join(folder, basename(left.directory))
  damages[damage]?.(file.replace(left.directory, directory), new Random(seed))
  const faults: string[] = []
  const alarms: string[] = []
  const served = await serve(directory, alarms, faults)
  const exported = exportedFrom(directory)
  const restored = look(left, served, { alarms, faults, exported })
  const missing = [...left.present.values()].filter((record) => !isServed(record, left, served, exported))
  const [first] = missing
  if (first !== undefined && alarms.length === 0) {
    faults.push(`${missing.length} records vanished without an alarm, such as ${nameOf(first)}`)
  }
  const again: string[] = []
  const servedAgain = await serve(directory, again, faults)
  if (again.length > 0) faults.push(`the second opening raises ${again.join(' and ')}`)
  if (!isDeepStrictEqual(new Set(servedAgain.keys()), new Set(served.keys())))
    faults.push('the second opening serves others')
  rmSync(folder, { recursive: true })
  return { faults, lost: missing.length, restored, exported: exported.size, alarms }
}

async function serve(directory: string, alarms: string[], faults: string[]): Promise<Map<string, StoredRecord>> {
  const served = new Map<string, StoredRecord>()
  try {
    const store = await openStore(directory, (text) => alarms.push(text))
    for (const record of await readEverything(store)) served.set(nameOf(record), record)
    await store.close()
  } catch (error) {
    faults.push(`it could not be opened and read: ${String(error)}`)
  }
  return served
}

interface Findings {
  readonly alarms: readonly string[]
  readonly faults: string[]
  readonly exported: ReadonlySet<string>
}

/** Each served record was put. Returns the number of records that are older than they should be, or were deleted. */
function look(
  left: LeftStore,
  served: ReadonlyMap<string, StoredRecord>,
  { alarms, faults, exported }: Findings,
): number {
  let restored = 0
  for (const [name, record] of served) {
    if (isRecovered(record)) continue
    if (!isOneOf(record, left.ever.get(name))) faults.push(`${name} is served as it never was`)
    else if (!isDeepStrictEqual(record, left.present.get(name))) restored += 1
  }
  if (restored > 0 && alarms.length === 0) faults.push(`${restored} records are old, without an alarm`)
  const recovered = [...served.values()].filter(isRecovered)
  if (recovered.length > 0 && !alarms.some((text) => text.startsWith('sessions-recovered')))
    faults.push('recovered sessions are not reported')
  if (exported.size > 0 && !alarms.some((text) => text.startsWith('messages-exported')))
    faults.push('the export is not reported')
  for (const record of served.values()) {
    if (record.kind !== 'queued' && record.kind !== 'subscription') continue
    if (!served.has(`session ${record.clientId}`)) faults.push(`${nameOf(record)} belongs to no session`)
  }
  return restored
}

function isRecovered(record: StoredRecord): boolean {
  return record.kind === 'session' && record.queueHead === 0
}

/** The record is in a queue of any session, or in the quarantine file. */
function isServed(
  record: StoredRecord,
  left: LeftStore,
  served: ReadonlyMap<string, StoredRecord>,
  exported: ReadonlySet<string>,
): boolean {
  if (isDeepStrictEqual(served.get(nameOf(record)), record)) return true
  return record.kind === 'queued' && exported.has(exportName(record, left))
}

function exportName(record: Extract<StoredRecord, { kind: 'queued' }>, { present }: LeftStore): string {
  const body = typeof record.message === 'number' ? present.get(`payload ${record.message}`) : undefined
  const message = body?.kind === 'payload' ? body.message : record.message
  return typeof message === 'number' ? '' : `${record.sequence} ${Buffer.from(message.payload).toString('base64')}`
}

function exportedFrom(directory: string): Set<string> {
  const file = `${directory}.lost-messages.jsonl`
  if (!existsSync(file)) return new Set()
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return new Set(
    lines.map((line) => {
      const { sequence, payload } = JSON.parse(line) as { sequence: number; payload: string }
      return `${sequence} ${payload}`
    }),
  )
}
