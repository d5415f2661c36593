// Stored credentials of clients.

import { hashPassword, type HashParameters, makeScramRecordAsync, toScramName } from '../../access/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import type { PageFound, PageWanted } from '../../management/index.ts'
import type { AccessRecordKey, CredentialRecord, PskRecord, ScramRecord } from '../../records/index.ts'
import { StorageFailure } from '../../storage/index.ts'
import {
  type AccessListName,
  type AccessRecords,
  type ShadowedCredentials,
  filterInSlices,
  ScanBudget,
} from '../../node/index.ts'

/** Lists of client credentials; names are unique within each. */
export type CredentialList = 'username' | 'clientid' | 'scram' | 'psk'

export type ScramName = 'SCRAM-SHA-256' | 'SCRAM-SHA-512'

/** The public part of an entry, without secrets. */
export interface StoredCredential {
  /** User name, client ID or identity of the key. */
  readonly id: string
  readonly createdAtMs: number
  /** Algorithm of a SCRAM user; undefined for other credentials. */
  readonly algorithm: ScramName | undefined
}

export interface NewCredential {
  readonly id: string
  /** The password, or the pre-shared key in hexadecimal. */
  readonly secret: string
  /** SCRAM users only. */
  readonly algorithm: ScramName | undefined
}

/** Conditions for entries of a list. */
export interface CredentialQuery {
  /** Exactly this name. */
  readonly id: string | undefined
  /** Names that contain this text. */
  readonly like: string | undefined
  readonly page: PageWanted
}

/** The write failed. The change is not active now, but may become so: it is written with the next change. */
export interface NotStored {
  /** A sentence for the caller. */
  readonly notStored: string
}

export interface CredentialDependencies {
  readonly accessRecords: AccessRecords
  /** The current configuration determines how new passwords are hashed. */
  readonly configuration: { readonly config: GodwitConfig }
  readonly shadowedCredentials: ShadowedCredentials
  readonly scramHasher: ScramHasher
}

/** Used for users that are stored while SCRAM is disabled. */
const defaultScramIterations = 10_000

/** Maximum entries in one change, which would otherwise block the event loops of the receivers. */
const maxEntriesPerWrite = 500

type SecretRecord = CredentialRecord | ScramRecord | PskRecord
type SecretKey = Extract<AccessRecordKey, { kind: SecretRecord['kind'] }>

const lists = {
  username: 'credential username',
  clientid: 'credential clientid',
  scram: 'scram',
  psk: 'psk',
} as const satisfies Record<CredentialList, AccessListName>

/** Lists of one namespace, or of no namespace. Changes are durable when the promises resolve, and apply to every later CONNECT. */
export class CredentialLists {
  readonly #dependencies: CredentialDependencies
  readonly #namespace: string | undefined
  readonly #maker: RecordMaker

  constructor(dependencies: CredentialDependencies, namespace?: string) {
    this.#dependencies = dependencies
    this.#namespace = namespace
    this.#maker = new RecordMaker(dependencies, namespace)
  }

  /** Newest first. */
  list(list: CredentialList, query: CredentialQuery): Promise<PageFound<StoredCredential>> {
    return listCredentials(this.#dependencies.accessRecords, { list, namespace: this.#namespace }, query)
  }

  find(list: CredentialList, id: string): StoredCredential | undefined {
    const record = this.#dependencies.accessRecords.find(toSecretKey(list, id, this.#namespace))
    return record === undefined ? undefined : toStoredCredential(record)
  }

  /** Entries are handled one after the other and separately. */
  create(
    list: CredentialList,
    entries: readonly NewCredential[],
  ): Promise<readonly ('created' | 'existed')[] | NotStored> {
    return catchStorageFailure(() => createAll(this.#dependencies, this.#maker, list, entries))
  }

  /** `algorithm` undefined: unchanged. */
  update(list: CredentialList, entry: NewCredential): Promise<'updated' | 'missing' | NotStored> {
    const { accessRecords: records } = this.#dependencies
    return catchStorageFailure(async () => {
      // Checked first, because hashing takes time, and an invalid name has no record.
      if (records.find(toSecretKey(list, entry.id, this.#namespace)) === undefined) return 'missing'
      return replace(records, await this.#maker.make(list, entry))
    })
  }

  delete(list: CredentialList, id: string): Promise<'deleted' | 'missing' | NotStored> {
    return catchStorageFailure(() => remove(this.#dependencies.accessRecords, toSecretKey(list, id, this.#namespace)))
  }
}

async function listCredentials(
  records: AccessRecords,
  { list, namespace }: { readonly list: CredentialList; readonly namespace: string | undefined },
  { id, like, page: { page, limit } }: CredentialQuery,
): Promise<PageFound<StoredCredential>> {
  const one = id === undefined ? undefined : records.find(toSecretKey(list, id, namespace))
  const all = id === undefined ? records.list(lists[list], namespace) : one === undefined ? [] : [one]
  const found = await filterInSlices(all, (record) => like === undefined || findName(record).includes(like))
  return { items: selectPageFromEnd(found, page, limit).map(toStoredCredential), count: found.length }
}

/** Page 1 has the last items, newest first. */
export function selectPageFromEnd<Item>(found: readonly Item[], page: number, limit: number): Item[] {
  const end = Math.max(0, found.length - (page - 1) * limit)
  return found.slice(Math.max(0, end - limit), end).reverse()
}

async function createAll(
  { accessRecords: records, shadowedCredentials }: CredentialDependencies,
  maker: RecordMaker,
  list: CredentialList,
  entries: readonly NewCredential[],
): Promise<('created' | 'existed')[]> {
  const outcomes: ('created' | 'existed')[] = []
  for (let start = 0; start < entries.length; start += maxEntriesPerWrite) {
    const made = await maker.makeAll(list, entries.slice(start, start + maxEntriesPerWrite))
    await records.decide(() => {
      const put = new Map<string, SecretRecord>()
      for (const record of made) {
        const isThere = put.has(findName(record)) || records.find(toRecordKey(record)) !== undefined
        outcomes.push(isThere ? 'existed' : 'created')
        if (!isThere) put.set(findName(record), replaceCreationTime(record, records.createMomentMs()))
      }
      return { put: [...put.values()], delete: [] }
    })
    for (const record of made) {
      if (record.kind === 'credential' && record.namespace === undefined) shadowedCredentials.recordStored(record)
    }
  }
  return outcomes
}

/** Fields other than the secret are unchanged. */
async function replace(records: AccessRecords, made: SecretRecord): Promise<'updated' | 'missing'> {
  let outcome: 'updated' | 'missing' = 'missing'
  await records.decide(() => {
    const before = records.find(toRecordKey(made))
    if (before === undefined) return { put: [], delete: [] }
    outcome = 'updated'
    const kept =
      'isSuperuser' in before ? { isSuperuser: before.isSuperuser, createdAtMs: before.createdAtMs } : undefined
    return { put: [{ ...made, ...kept }], delete: [] }
  })
  return outcome
}

async function remove(records: AccessRecords, key: SecretKey): Promise<'deleted' | 'missing'> {
  let outcome: 'deleted' | 'missing' = 'missing'
  await records.decide(() => {
    if (records.find(key) === undefined) return { put: [], delete: [] }
    outcome = 'deleted'
    return { put: [], delete: [key] }
  })
  return outcome
}

/** Returns a failure of the disk as a value for the caller. */
export async function catchStorageFailure<Outcome>(act: () => Promise<Outcome>): Promise<Outcome | NotStored> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof StorageFailure)) throw error
    return {
      notStored: `the write failed: the change is not in effect, and may take effect after a restart; ${error.message}`,
    }
  }
}

/** Hashes secrets without blocking the event loop. */
class RecordMaker {
  readonly #dependencies: CredentialDependencies
  /** Fields of each record. */
  readonly #place: { readonly namespace?: string }

  constructor(dependencies: CredentialDependencies, namespace: string | undefined) {
    this.#dependencies = dependencies
    this.#place = namespace === undefined ? {} : { namespace }
  }

  async makeAll(list: CredentialList, entries: readonly NewCredential[]): Promise<SecretRecord[]> {
    const budget = new ScanBudget()
    const made: SecretRecord[] = []
    for (const entry of entries) {
      made.push(await this.make(list, entry))
      if (budget.isExhausted()) await budget.pause()
    }
    return made
  }

  async make(list: CredentialList, { id, secret, algorithm }: NewCredential): Promise<SecretRecord> {
    switch (list) {
      case 'username':
      case 'clientid': {
        const hashed = hashPassword(secret, this.#readHashParameters())
        return { kind: 'credential', ...this.#place, by: list, id, isSuperuser: false, createdAtMs: 0, ...hashed }
      }
      case 'psk':
        return { kind: 'psk', ...this.#place, identity: id, key: Buffer.from(secret, 'hex') }
      case 'scram':
        return this.#makeScram({ id, secret, algorithm })
      default:
        return list satisfies never
    }
  }

  #readHashParameters(): HashParameters {
    const { passwordHash: algorithm, saltPosition } = this.#dependencies.configuration.config.auth
    return { algorithm, saltPosition }
  }

  async #makeScram({ id, secret, algorithm }: NewCredential): Promise<SecretRecord> {
    const before = this.#dependencies.accessRecords.find(toSecretKey('scram', id, this.#place.namespace))
    const user = {
      username: id,
      password: secret,
      algorithm: algorithm ?? (before?.kind === 'scram' ? before.algorithm : 'SCRAM-SHA-256'),
      iterations: this.#dependencies.configuration.config.auth.scram?.iterations ?? defaultScramIterations,
      isSuperuser: false,
      createdAtMs: 0,
    }
    return { ...(await this.#dependencies.scramHasher.hash(user)), ...this.#place }
  }
}

/** SCRAM is slow by design: one at a time, on another thread, for all callers of the process. */
export class ScramHasher {
  #last: Promise<unknown> = Promise.resolve()

  hash(user: Parameters<typeof makeScramRecordAsync>[0]): ReturnType<typeof makeScramRecordAsync> {
    const make = (): ReturnType<typeof makeScramRecordAsync> => makeScramRecordAsync(user)
    const made = this.#last.then(make, make)
    this.#last = made
    return made
  }
}

function toSecretKey(list: CredentialList, id: string, namespace: string | undefined): SecretKey {
  switch (list) {
    case 'username':
    case 'clientid':
      return { kind: 'credential', namespace, by: list, id }
    case 'scram':
      return { kind: 'scram', namespace, username: toScramName(id) }
    case 'psk':
      return { kind: 'psk', namespace, identity: id }
    default:
      return list satisfies never
  }
}

function toRecordKey(record: SecretRecord): SecretKey {
  const { kind, namespace } = record
  if (kind === 'psk') return { kind, namespace, identity: record.identity }
  return kind === 'scram'
    ? { kind, namespace, username: record.username }
    : { kind, namespace, by: record.by, id: record.id }
}

function findName(record: SecretRecord): string {
  switch (record.kind) {
    case 'credential':
      return record.id
    case 'scram':
      return record.username
    case 'psk':
      return record.identity
    default:
      return record satisfies never
  }
}

function replaceCreationTime(record: SecretRecord, createdAtMs: number): SecretRecord {
  return 'createdAtMs' in record ? { ...record, createdAtMs } : record
}

function toStoredCredential(record: SecretRecord): StoredCredential {
  const algorithm = record.kind === 'scram' ? record.algorithm : undefined
  return { id: findName(record), createdAtMs: 'createdAtMs' in record ? record.createdAtMs : 0, algorithm }
}
