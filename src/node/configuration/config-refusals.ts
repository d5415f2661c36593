// Refusals of configuration changes, with texts for the caller.

import { createConfigError, formatConfigError, type ConfigError, type GodwitConfig } from '../../config/index.ts'
import type { Problem } from './config-consumers.ts'

export interface ConfigRefusal {
  readonly isDone: false
  /** `invalid`: readable, but not applicable. `not-written`: the write failed. */
  readonly why: 'empty' | 'not-hocon' | 'invalid' | 'not-written' | 'unknown-version' | 'forbidden'
  /** All errors, a line each. */
  readonly message: string
}

/** Maximum number of reported errors. */
const maxListedErrors = 20

export function refuseDisk(error: unknown): ConfigRefusal {
  const { message } = error as Error
  return { isDone: false, why: 'not-written', message: `the configuration cannot be written: ${message}` }
}

/** If the sentence starts with the key of a written setting, its position is added. */
export function refuseProblem({ problem }: Problem, config?: GodwitConfig): ConfigRefusal {
  const [key = ''] = problem.split(': ', 1)
  const place = config?.places.get(key)
  const message =
    place === undefined ? problem : formatConfigError(createConfigError(place, key, problem.slice(key.length + 2)))
  return { isDone: false, why: 'invalid', message }
}

export function refuseMasked(keys: readonly string[]): ConfigRefusal {
  const message = `${keys.join(', ')}: a mask is sent back, but no secret is stored to go with it; send the secret`
  return { isDone: false, why: 'invalid', message }
}

export function refusePinned(keys: readonly string[]): ConfigRefusal {
  const message = `${keys.join(', ')}: set with --set at the start, which wins; start the broker without that`
  return { isDone: false, why: 'invalid', message }
}

export function refuseErrors(why: 'not-hocon' | 'invalid', errors: readonly ConfigError[]): ConfigRefusal {
  const listed = errors.slice(0, maxListedErrors).map(formatConfigError)
  const more = errors.length - listed.length
  return { isDone: false, why, message: [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join('\n') }
}

/** `key`: the setting whose new value waits for the next start, together with all others. */
export function refuseUntilRestart(key: string): ConfigRefusal {
  const message = `${key}: it is to have another value from the next start on, and until then nothing else is changed; restart the broker first`
  return { isDone: false, why: 'invalid', message }
}
