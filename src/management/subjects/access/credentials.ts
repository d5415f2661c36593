import type { credentialEndpoints } from '../../../contract/index.ts'
import type { Handlers } from '../../http/handler.ts'
import type {
  CredentialOperations,
  NewCredential,
  NotStored,
  ScramName,
  StoredCredential,
} from '../../operations/credentials.ts'
import { metaOf, type PageMeta, pageWanted } from '../../lists/numbered-pages.ts'
import { type ApiError, refuse } from '../../http/api-error.ts'
import { isEntry, type ListSpelling, readEntry, readSecret, refuseEntry } from './read-credential.ts'

/** Each costs some milliseconds of CPU time. */
const maxScramBatch = 1_000

type CredentialReply = Readonly<Record<string, unknown>>
type BatchReply = { code: 0; data?: Record<string, string> }

/** The five operations of each list; `show` converts an entry. */
function operationsOn<Item>(
  credentials: CredentialOperations,
  spelling: ListSpelling,
  show: (stored: StoredCredential) => Item,
) {
  const { list, id: key } = spelling
  const missing = (id: string): ApiError =>
    refuse('userNotFound', `there is no ${key} ${JSON.stringify(id)} in this list`)
  const idIn = (params: CredentialReply): string => String(params[key])
  return {
    list: async ({ query }: { query: CredentialReply }): Promise<{ code: 0; data: Item[]; meta: PageMeta }> => {
      const page = pageWanted(query)
      const text = (name: string): string | undefined => (typeof query[name] === 'string' ? query[name] : undefined)
      const found = await credentials.list(list, { id: text(key), like: text(`_like_${key}`), page })
      return { code: 0, data: found.items.map(show), meta: metaOf(page, found) }
    },
    lookup: ({ params }: { params: CredentialReply }): { code: 0; data: Item } | ApiError => {
      const stored = credentials.find(list, idIn(params))
      return stored === undefined ? missing(idIn(params)) : { code: 0, data: show(stored) }
    },
    create: async ({ body }: { body: unknown }): Promise<BatchReply | ApiError> =>
      Array.isArray(body) ? createEach(credentials, spelling, body) : createOne(credentials, spelling, body),
    update: async ({ params, body }: { params: CredentialReply; body: unknown }): Promise<{ code: 0 } | ApiError> => {
      const entry = readSecret(body, idIn(params), spelling)
      if (!isEntry(entry)) return refuseEntry(entry)
      const outcome = await credentials.update(list, entry)
      if (outcome === 'missing') return missing(entry.id)
      return outcome === 'updated' ? { code: 0 } : notStoredError(outcome)
    },
    delete: async ({ params }: { params: CredentialReply }): Promise<{ code: 0 } | ApiError> => {
      const outcome = await credentials.delete(list, idIn(params))
      if (outcome === 'missing') return missing(idIn(params))
      return outcome === 'deleted' ? { code: 0 } : notStoredError(outcome)
    },
  }
}

async function createOne(
  credentials: CredentialOperations,
  spelling: ListSpelling,
  item: unknown,
): Promise<BatchReply | ApiError> {
  const entry = readEntry(item, spelling)
  if (!isEntry(entry)) return refuseEntry(entry)
  const outcome = await credentials.create(spelling.list, [entry])
  if ('notStored' in outcome) return notStoredError(outcome)
  return outcome[0] === 'created' ? { code: 0 } : refuse('userExists', 'existed')
}

async function createEach(
  credentials: CredentialOperations,
  spelling: ListSpelling,
  items: readonly unknown[],
): Promise<BatchReply | ApiError> {
  if (spelling.list === 'scram' && items.length > maxScramBatch) {
    return refuse(
      'invalidParameter',
      `too many SCRAM users in one request; maximum ${maxScramBatch}, because their hashes are slow`,
    )
  }
  const entries: NewCredential[] = []
  const read = items.map((item) => readEntry(item, spelling))
  for (const entry of read) if (isEntry(entry)) entries.push(entry)
  const outcomes = await credentials.create(spelling.list, entries)
  if ('notStored' in outcomes) return notStoredError(outcomes)
  let next = 0
  const fates = read.map((entry, index): [string, string] => {
    if (isEntry(entry)) return [entry.id, outcomes[next++] === 'created' ? 'ok' : '{error,existed}']
    return [nameOf(items[index], spelling) ?? String(index), `{error,${entry.word}}`]
  })
  // Names are external input: with entries, `__proto__` is an ordinary name.
  return { code: 0, data: Object.fromEntries(fates) }
}

function nameOf(item: unknown, { id }: ListSpelling): string | undefined {
  const name = typeof item === 'object' && item !== null ? (item as CredentialReply)[id] : undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** The disk failed, not the request. */
export function notStoredError({ notStored }: NotStored): ApiError {
  return refuse('unknownError', notStored)
}

export function credentialHandlers(credentials: CredentialOperations): Handlers<typeof credentialEndpoints> {
  const byUsername = operationsOn(
    credentials,
    { list: 'username', id: 'username', secret: 'password' },
    ({ id, createdAtMs }) => ({ username: id, created_at: Math.floor(createdAtMs) }),
  )
  const byClientId = operationsOn(
    credentials,
    { list: 'clientid', id: 'clientid', secret: 'password' },
    ({ id, createdAtMs }) => ({ clientid: id, created_at: Math.floor(createdAtMs) }),
  )
  const scram = operationsOn(credentials, { list: 'scram', id: 'username', secret: 'password' }, showScram)
  const psk = operationsOn(credentials, { list: 'psk', id: 'identity', secret: 'key' }, ({ id }) => ({ identity: id }))
  return {
    list_auth_username: byUsername.list,
    lookup_auth_username: byUsername.lookup,
    create_auth_username: byUsername.create,
    update_auth_username: byUsername.update,
    delete_auth_username: byUsername.delete,
    list_auth_clientid: byClientId.list,
    lookup_auth_clientid: byClientId.lookup,
    create_auth_clientid: byClientId.create,
    update_auth_clientid: byClientId.update,
    delete_auth_clientid: byClientId.delete,
    list_auth_scram: scram.list,
    lookup_auth_scram: scram.lookup,
    create_auth_scram: scram.create,
    update_auth_scram: scram.update,
    delete_auth_scram: scram.delete,
    list_auth_psk: psk.list,
    lookup_auth_psk: psk.lookup,
    create_auth_psk: psk.create,
    update_auth_psk: psk.update,
    delete_auth_psk: psk.delete,
  }
}

function showScram({ id, algorithm, createdAtMs }: StoredCredential): {
  username: string
  algorithm: ScramName
  created_at: number
} {
  return { username: id, algorithm: algorithm ?? 'SCRAM-SHA-256', created_at: Math.floor(createdAtMs) }
}
