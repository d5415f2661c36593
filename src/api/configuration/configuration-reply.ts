// Changes of the configuration, and the replies to them.

import { formatConfigError, fromPlain } from '../../config/index.ts'
import type { Caller, ReplyOf } from '../../contract/index.ts'
import { type ApiError, refuse } from '../../management/index.ts'
import { type ConfigManager, type ConfigOutcome, requestName } from '../../node/index.ts'
import type { configurationEndpoints } from './endpoints.ts'

type Difference = Pick<Extract<ConfigOutcome, { readonly isDone: true }>['changed'][number], 'key' | 'old' | 'new'>

/** `act`: name of the change in the history. */
export interface Change {
  readonly by: Caller
  readonly persists: boolean
  readonly act: string
}

/** Changes settings by section and key; absent ones are unchanged. */
export async function changeSettings(
  configuration: ConfigManager,
  settings: Readonly<Record<string, unknown>>,
  { by, persists, act }: Change,
): Promise<ConfigOutcome> {
  const read = fromPlain(settings, requestName)
  if ('errors' in read) return { isDone: false, why: 'invalid', message: read.errors.map(formatConfigError).join('\n') }
  return configuration.change(read.value, { author: by, persists, name: act })
}

const refusals = {
  empty: 'missingParameter',
  'not-hocon': 'notHocon',
  invalid: 'invalidParameter',
  'not-written': 'configNotWritten',
} as const

export function refuseOutcome({ why, message }: Extract<ConfigOutcome, { readonly isDone: false }>): ApiError {
  if (why === 'unknown-version') return refuse('invalidParameter', message, 404)
  return why === 'forbidden' ? refuse('wrongCredentials', message, 403) : refuse(refusals[why], message)
}

export function toResponse(
  outcome: ConfigOutcome,
): ReplyOf<(typeof configurationEndpoints)['update_config']> | ApiError {
  if (!outcome.isDone) return refuseOutcome(outcome)
  const { changed, needsRestart, withoutEffect, pinned, warnings } = outcome
  return {
    code: 0,
    data: {
      changed: changed.map(toDifferenceResponse),
      needs_restart: needsRestart.map(toDifferenceResponse),
      without_engine: withoutEffect.map(toDifferenceResponse),
      pinned: [...pinned],
      warnings: warnings.map(formatConfigError),
    },
  }
}

export function toDifferenceResponse({ key, old, new: now }: Difference): { key: string; old?: string; new?: string } {
  return { key, ...(old === undefined ? {} : { old }), ...(now === undefined ? {} : { new: now }) }
}
