// Writes settings of one named item of a section: a rule, a connector, a gateway. This is a change of the
// configuration.

import { fromPlain, mask, restoreUrlSecrets, toPlain } from '../../config/index.ts'
import type { Caller } from '../../contract/index.ts'
import { type ApiError, refuseFor } from '../../management/index.ts'
import type { ConfigManager } from '../../node/index.ts'

/** Reason why a change failed: the request is invalid, or the write failed. */
export interface SettingProblem {
  readonly problem: string
  readonly isAbout: 'settings' | 'disk' | 'in-use'
}

export function refuseChange({ problem, isAbout }: SettingProblem): ApiError {
  return refuseFor(isAbout === 'disk' ? 'INTERNAL_ERROR' : 'BAD_REQUEST', problem)
}

/** Writes one named item. */
export class SettingWriter {
  readonly #configuration: ConfigManager

  constructor(configuration: ConfigManager) {
    this.#configuration = configuration
  }

  async put(
    path: readonly string[],
    settings: Readonly<Record<string, unknown>> | undefined,
    { name, by, address }: Caller,
  ): Promise<SettingProblem | undefined> {
    const act = {
      author: { name, by, address },
      name: `${settings === undefined ? 'delete' : 'set'} ${path.join('.')}`,
    }
    const read = settings === undefined ? undefined : fromPlain(this.restoreSecrets(path, settings), 'request')
    if (read !== undefined && 'errors' in read)
      return { problem: read.errors.map(({ message }) => message).join('; '), isAbout: 'settings' }
    const outcome = await this.#configuration.putNamed(path, read?.value, act)
    if (outcome.isDone) return undefined
    return { problem: outcome.message, isAbout: outcome.why === 'not-written' ? 'disk' : 'settings' }
  }

  /** Changes settings by their names in a file. Absent ones are unchanged. */
  async change(
    settings: Readonly<Record<string, unknown>>,
    { name, by, address }: Caller,
  ): Promise<SettingProblem | undefined> {
    const read = fromPlain(settings, 'request')
    if ('errors' in read) return { problem: read.errors.map(({ message }) => message).join('; '), isAbout: 'settings' }
    const act = { author: { name, by, address }, name: `set ${Object.keys(settings).join(', ')}`, persists: true }
    const outcome = await this.#configuration.change(read.value, act)
    if (outcome.isDone) return undefined
    return { problem: outcome.message, isAbout: outcome.why === 'not-written' ? 'disk' : 'settings' }
  }

  /** A masked secret that is sent back is unchanged. */
  restoreSecrets(
    path: readonly string[],
    settings: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> {
    const stored = this.#configuration.findWritten(path)
    return replaceMasks(settings, stored === undefined ? undefined : toPlain(stored)) as Readonly<
      Record<string, unknown>
    >
  }
}

function replaceMasks(sent: unknown, stored: unknown): unknown {
  if (sent === mask) return stored ?? sent
  if (typeof sent === 'string' && typeof stored === 'string') return restoreUrlSecrets(sent, stored)
  if (Array.isArray(sent) && Array.isArray(stored)) return sent.map((item, index) => replaceMasks(item, stored[index]))
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return sent
  const known = typeof stored === 'object' && stored !== null ? (stored as Readonly<Record<string, unknown>>) : {}
  const entries = Object.entries(sent).map(([key, value]) => [
    key,
    replaceMasks(value, Object.hasOwn(known, key) ? known[key] : undefined),
  ])
  return Object.fromEntries(entries) as unknown
}
