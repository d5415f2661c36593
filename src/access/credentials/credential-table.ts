// Who is known by a password: two lists, by user name and by client id, that know nothing of each other.
//
//              stored (API)        presets (configuration)
//   username   alice  ......       alice (hidden), bob
//   clientid   pump-7              pump-8
//
// A stored credential hides the preset of the same name: what was changed at run time stays changed. A namespace has lists
// of its own before these: who is in them is found there, and others of the same name are not looked at.

import { namespacedName } from '../../core/index.ts'
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
    const own = namespace === undefined ? undefined : this.stored.get(namespacedName(namespace, id))
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
    this.#lists[record.by].stored.set(namespacedName(record.namespace, record.id), record)
  }

  delete({ by, namespace, id }: CredentialKey): void {
    this.#lists[by].stored.delete(namespacedName(namespace, id))
  }

  /** Those of the configuration, in place of those before. */
  setConfigured(records: readonly CredentialRecord[]): void {
    for (const kind of ['username', 'clientid'] as const) {
      this.#lists[kind].configured = new Map(
        records.filter(({ by }) => by === kind).map((record) => [record.id, record]),
      )
    }
  }
}
