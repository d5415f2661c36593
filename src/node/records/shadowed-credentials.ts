// A stored credential replaces one of the configuration with the same name. The log reports it once for each name, so
// that a changed password in the file without effect can be explained.

import type { GodwitConfig } from '../../config/index.ts'
import type { CredentialRecord } from '../../records/index.ts'
import type { Log } from '../../telemetry/index.ts'
import type { AccessRecords } from './stored-access-records.ts'
import type { ConfigConsumer } from '../configuration/config-consumers.ts'

type Named = Pick<CredentialRecord, 'by' | 'id'>

export class ShadowedCredentials implements ConfigConsumer {
  /** Files of passwords may have changed, too. */
  readonly isAlwaysApplied = true
  readonly #records: AccessRecords
  readonly #log: Log
  #configured: ReadonlySet<string>
  /** Names that were logged; only names of the configuration. */
  readonly #loggedNames = new Set<string>()

  /** `configured`: the current credentials of the configuration. */
  constructor({ records, log, configured }: { records: AccessRecords; log: Log; configured: readonly Named[] }) {
    this.#records = records
    this.#log = log
    this.#configured = new Set()
    this.#changeConfigured(configured)
  }

  canApply(key: string): boolean {
    return key.startsWith('auth.')
  }

  async apply({ auth }: GodwitConfig): Promise<undefined> {
    this.#changeConfigured(auth.credentials)
  }

  #changeConfigured(configured: readonly Named[]): void {
    this.#configured = new Set(configured.map(formatName))
    for (const { by, id } of configured) {
      const stored = this.#records.find({ kind: 'credential', by, id })
      if (stored !== undefined) this.recordStored(stored)
    }
  }

  /** A stored credential of this name exists. */
  recordStored(stored: Named): void {
    const word = formatName(stored)
    if (!this.#configured.has(word) || this.#loggedNames.has(word)) return
    this.#loggedNames.add(word)
    const { by, id } = stored
    this.#log.warn('configured credential shadowed by a stored one', {
      [by === 'username' ? 'username' : 'clientId']: id,
      remedy: `delete it by DELETE /api/v4/auth_${by} where the configuration is to count`,
    })
  }
}

function formatName({ by, id }: Named): string {
  return `${by} ${id}`
}
