// Whether settings of gateways fit together.

import { createConfigError, type ConfigError } from '../hocon/config-errors.ts'
import type { Position } from '../hocon/config-values.ts'

const authenticationKey = /^(gateway\.(?:.+\.)?authentication)\.(?!mechanism$)/

/** An authentication that says nothing of its mechanism would let the chain of the broker count instead. */
export function checkGateways(places: ReadonlyMap<string, Position>): readonly ConfigError[] {
  const errors = new Map<string, ConfigError>()
  for (const [key, at] of places) {
    const [, authentication = ''] = authenticationKey.exec(key) ?? []
    const mechanism = `${authentication}.mechanism`
    if (authentication === '' || places.has(mechanism) || errors.has(mechanism)) continue
    errors.set(mechanism, createConfigError(at, mechanism, 'it is missing', 'set it to password_based or jwt'))
  }
  return [...errors.values()]
}
