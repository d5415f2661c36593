import type { GodwitConfig } from '../../config/index.ts'
import type { AccessRecordKey, OperatorRecordKey } from '../../core/index.ts'
import type { Namespace, NamespaceOperations, Wisher } from '../../management/index.ts'
import type { Log } from '../../telemetry/index.ts'
import type { AccessRecords, BookChange } from '../access-records.ts'
import { orNotStored } from './credentials.ts'

export interface NamespaceGround {
  readonly accessRecords: AccessRecords
  readonly configuration: { readonly config: GodwitConfig }
  readonly log: Log
}

const mostNamespaces = 10_000
const nothing: BookChange = { put: [], delete: [] }

export function namespaceOperations(ground: NamespaceGround): NamespaceOperations {
  const { accessRecords: records, log } = ground
  const tell = (what: string, { name, address }: Wisher): void =>
    log.warn('namespaces were changed', { what, by: name, address })
  return {
    list: () => listNamespaces(ground),
    create: (name, by) =>
      orNotStored(async () => {
        let outcome = 'exists' as Namespace | 'exists' | 'too-many'
        await records.decide(() => {
          if (records.find({ kind: 'namespace', name }) !== undefined) return nothing
          if ([...records.list('namespace')].length >= mostNamespaces) {
            outcome = 'too-many'
            return nothing
          }
          const made = { kind: 'namespace', name, createdAtMs: records.newMomentMs() } as const
          outcome = made
          return { put: [made], delete: [] }
        })
        if (typeof outcome === 'object') tell(`namespace ${name} made`, by)
        return outcome
      }),
    remove: (name, by) =>
      orNotStored(async () => {
        let outcome = 'in-use' as 'removed' | 'missing' | 'in-use'
        await records.decide(() => {
          if (isInUse(ground, name)) return nothing
          const keys = keysOf(records, name)
          outcome = keys.length === 0 ? 'missing' : 'removed'
          return { put: [], delete: keys }
        })
        if (outcome === 'removed') tell(`namespace ${name} taken away`, by)
        return outcome
      }),
  }
}

function listNamespaces({ accessRecords: records, configuration }: NamespaceGround): Namespace[] {
  const found = new Map<string, Namespace>()
  for (const { name, createdAtMs } of records.list('namespace')) found.set(name, { name, createdAtMs })
  const named = [...records.list('account'), ...records.list('api-key'), ...configuration.config.listeners]
  for (const { namespace: name } of named) {
    if (name !== undefined && !found.has(name)) found.set(name, { name, createdAtMs: undefined })
  }
  return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

function isInUse({ accessRecords: records, configuration }: NamespaceGround, name: string): boolean {
  const named = [...records.list('account'), ...records.list('api-key'), ...configuration.config.listeners]
  return named.some(({ namespace }) => namespace === name)
}

/** Of everything that is stored of it: all goes at once, or nothing. */
function keysOf(records: AccessRecords, namespace: string): (AccessRecordKey | OperatorRecordKey)[] {
  const keys: (AccessRecordKey | OperatorRecordKey)[] = []
  for (const by of ['username', 'clientid'] as const)
    for (const { kind, id } of records.list(`credential ${by}`, namespace)) keys.push({ kind, namespace, by, id })
  for (const { kind, username } of records.list('scram', namespace)) keys.push({ kind, namespace, username })
  for (const about of ['clientid', 'username', 'all'] as const)
    for (const { kind, who, topic, action } of records.list(`rule ${about}`, namespace))
      keys.push({ kind, namespace, about, who, topic, action })
  for (const { kind, as, who } of records.list('ban', namespace)) keys.push({ kind, namespace, as, who })
  if (records.find({ kind: 'namespace', name: namespace }) !== undefined)
    keys.push({ kind: 'namespace', name: namespace })
  return keys
}
