// What the function of a plugin returned, checked against its manifest.

import { hookNames, type HookName } from '../manifest/plugin-manifest.ts'
import type { Hooks } from '../manifest/plugin-types.ts'

const names: ReadonlySet<string> = new Set(hookNames)

/** Throws an error whose text is for administrators. */
export function readHooks(returned: unknown, declared: readonly HookName[]): Hooks {
  if (typeof returned !== 'object' || returned === null) throw new Error('its function returns no object of hooks')
  const hooks = returned as Readonly<Record<string, unknown>>
  for (const name of declared)
    if (typeof hooks[name] !== 'function') throw new Error(`${name} is in its manifest, but is no function`)
  const declaredNames: ReadonlySet<string> = new Set(declared)
  for (const name of Object.keys(hooks)) {
    if (name === 'configure') {
      if (typeof hooks[name] !== 'function') throw new Error('configure is no function')
    } else if (!names.has(name)) throw new Error(`${name} is no hook`)
    else if (!declaredNames.has(name)) throw new Error(`${name} is a hook that its manifest does not name`)
  }
  return returned
}
