// Credentials with passwords: two independent lists, by user name and by client ID.
//
//              stored (API)        configured
//   username   alice  ......       alice (shadowed), bob
//   clientid   pump-7              pump-8
//
// A stored credential shadows the configured one of the same name, so that a password changed over the API survives a restart.
// The credentials of the client's namespace are searched first. If one has the name, credentials without a namespace are ignored.

import { toNamespacedName } from '../../core/index.ts'
import type { AccessRecordKey, CredentialRecord } from '../../records/index.ts'

export type CredentialKind = CredentialRecord['by']
type CredentialKey = Extract<AccessRecordKey, { kind: 'credential' }>

/** A list of one kind. */
class CredentialList {
  /** By namespaced name. */
  readonly stored = new Map<string, CredentialRecord>()
  configured = new Map<string, CredentialRecord>()

  get isEmpty(): boolean {
    return this.stored.size === 0 && this.configured.size === 0
  }

  find(id: string, namespace: string | undefined): CredentialRecord | undefined {
    const own = namespace === undefined ? undefined : this.stored.get(toNamespacedName(namespace, id))
    return own ?? this.stored.get(id) ?? this.configured.get(id)
  }
}

export class CredentialTable {
  readonly #lists: Readonly<Record<CredentialKind, CredentialList>> = {
    username: new CredentialList(),
    clientid: new CredentialList(),
  }

  isEmpty(kind: CredentialKind): boolean {
    return this.#lists[kind].isEmpty
  }

  find(kind: CredentialKind, id: string, namespace: string | undefined): CredentialRecord | undefined {
    return this.#lists[kind].find(id, namespace)
  }

  put(record: CredentialRecord): void {
    this.#lists[record.by].stored.set(toNamespacedName(record.namespace, record.id), record)
  }

  delete({ by, namespace, id }: CredentialKey): void {
    this.#lists[by].stored.delete(toNamespacedName(namespace, id))
  }

  /** Replaces all configured credentials. */
  setConfigured(records: readonly CredentialRecord[]): void {
    for (const kind of ['username', 'clientid'] as const) {
      this.#lists[kind].configured = new Map(
        records.filter(({ by }) => by === kind).map((record) => [record.id, record]),
      )
    }
  }
}
