// Lists and changes the configured bridges. Each change is a change of the configuration.

import { createHash } from 'node:crypto'
import { chmod, mkdir, open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  bridgesOfAws,
  type ConfigObject,
  type GodwitConfig,
  type MqttBridgeConfig,
  nameAtAws,
  parseHocon,
} from '../../config/index.ts'
import type { Caller } from '../../contract/index.ts'
import type { BridgeOperations, BridgeProblem, NewBridgeSettings } from './bridge-types.ts'
import {
  type ConfigRefusal,
  refuseErrors,
  refuseProblem,
  type BridgeConfig,
  type ConfigManager,
  dataEntries,
} from '../../node/index.ts'

export interface BridgeOperationDependencies {
  /** Absolute path. */
  readonly dataDirectory: string
  readonly configuration: ConfigManager
  readonly bridges: Pick<BridgeConfig, 'reports'>
}

/** Maximum size of a file with certificates, in bytes. */
const maxPemBytes = 1_048_576
const digestLength = 16

export function bridgeOperations({
  dataDirectory,
  configuration,
  bridges,
}: BridgeOperationDependencies): BridgeOperations {
  return {
    list: () => bridgesIn(configuration.config),
    cache: () => configuration.config.bridges.mqtt.cache,
    reports: () => bridges.reports(),
    certificatesIn,
    storePem: (bridge, file, pem) => writePem(join(dataDirectory, dataEntries.certificates), `${bridge}-${file}`, pem),
    create: (bridge, settings, caller) =>
      write(configuration, { bridge, caller }, (config) =>
        bridgesIn(config).has(bridge)
          ? refuseProblem({ problem: `there is already a bridge ${JSON.stringify(bridge)}` })
          : sectionOf(bridge, settings),
      ),
    remove: (bridge, caller) => write(configuration, { bridge, caller }, () => sectionOf(bridge, null)),
    change: (bridge, settings, caller) =>
      write(configuration, { bridge, caller }, (config) => changeOf(bridge, settings, config)),
  }
}

/** Writes one change of a bridge. `change` is called when all earlier changes are applied, with the configuration of that time. */
async function write(
  configuration: ConfigManager,
  { bridge, caller: { name, by, address } }: { readonly bridge: string; readonly caller: Caller },
  change: (config: GodwitConfig) => ConfigObject | ConfigRefusal,
): Promise<BridgeProblem | undefined> {
  const origin = { author: { name, by, address }, persists: true, name: `bridge ${bridge}` }
  const outcome = await configuration.change(change, origin)
  if (outcome.isDone) return undefined
  return { problem: outcome.message, isAbout: outcome.why === 'not-written' ? 'disk' : 'settings' }
}

function bridgesIn({ bridges }: GodwitConfig): ReadonlyMap<string, MqttBridgeConfig> {
  return new Map([...bridges.mqtt.named, ...bridgesOfAws(bridges)])
}

/** Returns the change for a bridge that exists. */
function changeOf(bridge: string, settings: NewBridgeSettings, config: GodwitConfig): ConfigObject | ConfigRefusal {
  const now = bridgesIn(config).get(bridge)
  if (now === undefined) return refuseProblem({ problem: `the bridge ${bridge} is no longer configured` })
  return sectionOf(bridge, typeof settings === 'function' ? settings(now) : settings)
}

/** Returns a configuration with one bridge; `settings` null: without it. */
function sectionOf(bridge: string, settings: object | null): ConfigObject | ConfigRefusal {
  const atAws = nameAtAws(bridge)
  const bridges = atAws === undefined ? { mqtt: { [bridge]: settings } } : { aws: { [atAws]: settings } }
  const parsed = parseHocon(JSON.stringify({ bridges }), { file: 'request' })
  return 'errors' in parsed ? refuseErrors('invalid', parsed.errors) : parsed.value
}

/** Returns only certificates: a caller who may name a file must not see other contents of it. */
async function certificatesIn(file: string): Promise<string | undefined> {
  const status = await stat(file).catch(() => undefined)
  if (status?.isFile() !== true || status.size > maxPemBytes) return undefined
  const text = await readFile(file, 'latin1').catch(() => '')
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g)
  return blocks === null ? undefined : `${blocks.join('\n')}\n`
}

/** The name contains a hash of the content, so a file in use is never overwritten. */
async function writePem(folder: string, name: string, pem: string): Promise<string> {
  const digest = createHash('sha256').update(pem).digest('hex').slice(0, digestLength)
  const path = join(folder, `${name}-${digest}.pem`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(pem)
    await file.sync()
  } finally {
    await file.close()
  }
  await chmod(path, 0o600)
  return path
}
