// Applications of EMQX 4 become API keys of administrators, because each application could use the whole API.

import { createHash, randomBytes } from 'node:crypto'
import type { ApiKeyRecord } from '../../../src/records/index.ts'
import { type Emqx4Entry, readText } from './emqx4-entries.ts'
import type { Emqx4Report } from './emqx4-report.ts'

const section = 'apps'
const saltBytes = 16

interface ApplicationOptions {
  readonly isWellKnownSecret: (name: string, secret: string) => boolean
  readonly report: Emqx4Report
}

export function convertApplications(entries: readonly Emqx4Entry[], options: ApplicationOptions): ApiKeyRecord[] {
  const found = new Map<string, ApiKeyRecord>()
  for (const entry of entries) {
    const id = readText(entry['id'])
    const secret = readText(entry['secret'])
    const problem = findProblem(id, secret, found, options)
    if (id === undefined || secret === undefined || problem !== undefined) {
      options.report.skip(section, id ?? '', problem ?? '')
      continue
    }
    found.set(id, toApiKey(entry, { id, secret }, options.report))
  }
  return [...found.values()]
}

function findProblem(
  id: string | undefined,
  secret: string | undefined,
  found: ReadonlyMap<string, ApiKeyRecord>,
  { isWellKnownSecret }: ApplicationOptions,
): string | undefined {
  if (id === undefined || id === '') return 'an application without an id'
  if (secret === undefined || secret === '') return 'an application without a secret'
  if (isWellKnownSecret(id, secret))
    return 'the secret is well known, and would open the API to all: create an API key with godwit ctl api-key add'
  return found.has(id) ? 'another application has the same id' : undefined
}

function toApiKey(
  entry: Emqx4Entry,
  { id, secret }: { readonly id: string; readonly secret: string },
  report: Emqx4Report,
): ApiKeyRecord {
  const { status, expired } = entry
  const hasNoEnd = expired === undefined || expired === null || expired === 'undefined'
  const isEnabled = status === true && (hasNoEnd || typeof expired === 'number')
  if (!isEnabled && status !== false) report.restrict(section, id, 'its status or end is not readable: it is disabled')
  const salt = randomBytes(saltBytes)
  return {
    kind: 'api-key',
    id,
    name: readText(entry['name']) ?? '',
    description: readText(entry['desc']) ?? '',
    role: 'administrator',
    namespace: undefined,
    isEnabled,
    expiresAtMs: typeof expired === 'number' ? expired * 1_000 : undefined,
    secret: {
      algorithm: 'sha256',
      memory: 0,
      passes: 0,
      lanes: 0,
      salt,
      hash: createHash('sha256').update(salt).update(secret).digest(),
    },
    createdAtMs: 0,
  }
}
