// Alarms about modules without which clients may be allowed more, or less, than the configuration seems to say.

import type { GodwitConfig } from '../../config/index.ts'
import type { ConfigConsumer, Problem } from '../configuration/config-consumers.ts'
import type { Alarms } from './raised-alarms.ts'

const texts = {
  acl_internal:
    'modules.acl_internal is false: the access rules of the configuration do not apply. Turn it on with PUT /api/v4/modules/acl_internal/load',
  psk_file:
    'modules.psk_file is false: no client is accepted for its pre-shared key. Turn it on with PUT /api/v4/modules/psk_file/load',
} as const

const watchedModules = ['acl_internal', 'psk_file'] as const

export class ModuleAlarms implements ConfigConsumer {
  readonly #alarms: Pick<Alarms, 'raise' | 'end'>
  readonly #raised = new Set<string>()

  constructor(alarms: Pick<Alarms, 'raise' | 'end'>) {
    this.#alarms = alarms
  }

  canApply(key: string): boolean {
    return key.startsWith('modules.')
  }

  async apply(config: Pick<GodwitConfig, 'modules'>): Promise<Problem | undefined> {
    this.check(config)
    return undefined
  }

  check({ modules }: Pick<GodwitConfig, 'modules'>): void {
    for (const name of watchedModules) {
      if (modules[name] && this.#raised.delete(name)) {
        this.#alarms.end(`module-unloaded:${name}`, `the module ${name} is loaded`)
      }
      if (modules[name] || this.#raised.has(name)) continue
      this.#raised.add(name)
      this.#alarms.raise(`module-unloaded:${name}`, texts[name])
    }
  }
}
