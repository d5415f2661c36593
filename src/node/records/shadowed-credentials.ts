// A stored credential counts instead of one of the configuration with the same name. Whoever changes a password in the
// file and wonders why it does not count finds the reason in the log: once for each name.

import type { GodwitConfig } from '../../config/index.ts'
import type { CredentialRecord } from '../../records/index.ts'
import type { Log } from '../../telemetry/index.ts'
import type { AccessRecords } from './access-records.ts'
import type { ConfigConsumer } from '../configuration/config-consumers.ts'

type Named = Pick<CredentialRecord, 'by' | 'id'>

export class ShadowedCredentials implements ConfigConsumer {
  /** Files of passwords may say something else, too. */
  readonly isAlwaysApplied = true
  readonly #records: AccessRecords
  readonly #log: Log
  #presets: ReadonlySet<string>
  /** Of which the log has it already; names of the configuration only. */
  readonly #told = new Set<string>()

  /** `presets`: credentials of the configuration in force. */
  constructor({ records, log, presets }: { records: AccessRecords; log: Log; presets: readonly Named[] }) {
    this.#records = records
    this.#log = log
    this.#presets = new Set()
    this.#changePresets(presets)
  }

  owns(key: string): boolean {
    return key.startsWith('auth.')
  }

  async apply({ auth }: GodwitConfig): Promise<undefined> {
    this.#changePresets(auth.credentials)
  }

  #changePresets(presets: readonly Named[]): void {
    this.#presets = new Set(presets.map(wordOf))
    for (const { by, id } of presets) {
      const stored = this.#records.find({ kind: 'credential', by, id })
      if (stored !== undefined) this.noteStored(stored)
    }
  }

  /** There is a stored credential of this name. */
  noteStored(stored: Named): void {
    const word = wordOf(stored)
    if (!this.#presets.has(word) || this.#told.has(word)) return
    this.#told.add(word)
    const { by, id } = stored
    this.#log.warn('configured credential shadowed by a stored one', {
      [by === 'username' ? 'username' : 'clientId']: id,
      remedy: `delete it by DELETE /api/v4/auth_${by} where the configuration is to count`,
    })
  }
}

function wordOf({ by, id }: Named): string {
  return `${by} ${id}`
}
