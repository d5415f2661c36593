// Lists and changes the configured bridges. Each change is a change of the configuration.

import { createHash } from 'node:crypto'
import { chmod, mkdir, open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  createAwsBridges,
  type ConfigObject,
  type DiskCacheConfig,
  type GodwitConfig,
  type MqttBridgeConfig,
  parseAwsBridgeName,
  parseHocon,
} from '../../config/index.ts'
import type { Caller } from '../../contract/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import {
  type ConfigRefusal,
  refuseErrors,
  refuseProblem,
  type BridgeConfig,
  type ConfigManager,
  dataEntries,
} from '../../node/index.ts'

/** Files of a bridge: its certificate, its key, its trusted authorities. */
export type BridgeFile = 'certfile' | 'keyfile' | 'cacertfile'

type Settings = Readonly<Record<string, unknown>>

/**
 * By the names of the configuration; null: the default. A function gets the bridge after earlier changes: two
 * simultaneous additions to a list would otherwise overwrite each other.
 */
export type NewBridgeSettings = Settings | ((bridge: MqttBridgeConfig) => Settings)

/** `isAbout`: the settings are invalid, or could not be written. */
export interface BridgeProblem {
  readonly problem: string
  readonly isAbout: 'settings' | 'disk'
}

/** Maximum size of a file with certificates, in bytes. */
const maxPemBytes = 1_048_576
const digestLength = 16

export class ConfiguredBridges {
  readonly #certificates: string
  readonly #configuration: ConfigManager
  readonly #bridges: Pick<BridgeConfig, 'readReports'>

  constructor({
    dataDirectory,
    configuration,
    bridges,
  }: Pick<ApiContext, 'dataDirectory' | 'configuration' | 'bridges'>) {
    this.#certificates = join(dataDirectory, dataEntries.certificates)
    this.#configuration = configuration
    this.#bridges = bridges
  }

  /** By name, in the order of the configuration; those to AWS IoT come last. */
  list(): ReadonlyMap<string, MqttBridgeConfig> {
    return listBridges(this.#configuration.config)
  }

  readCache(): DiskCacheConfig {
    return this.#configuration.config.bridges.mqtt.cache
  }

  /** By name. Bridges of a restarting shard are missing. */
  readReports(): ReturnType<BridgeConfig['readReports']> {
    return this.#bridges.readReports()
  }

  /** Writes PEM of an existing bridge into the data directory. Returns the name of the file. */
  storePem(bridge: string, file: BridgeFile, pem: string): Promise<string> {
    return writePem(this.#certificates, `${bridge}-${file}`, pem)
  }

  /** Adds a bridge to the configuration. An existing name is a problem. */
  create(bridge: string, settings: Settings, caller: Caller): Promise<BridgeProblem | undefined> {
    return write(this.#configuration, { bridge, caller }, (config) =>
      listBridges(config).has(bridge)
        ? refuseProblem({ problem: `there is already a bridge ${JSON.stringify(bridge)}` })
        : createSection(bridge, settings),
    )
  }

  /** Removes an existing bridge from the configuration. */
  remove(bridge: string, caller: Caller): Promise<BridgeProblem | undefined> {
    return write(this.#configuration, { bridge, caller }, () => createSection(bridge, null))
  }

  /** Absent settings are unchanged. */
  change(bridge: string, settings: NewBridgeSettings, caller: Caller): Promise<BridgeProblem | undefined> {
    return write(this.#configuration, { bridge, caller }, (config) => createChange(bridge, settings, config))
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

function listBridges({ bridges }: GodwitConfig): ReadonlyMap<string, MqttBridgeConfig> {
  return new Map([...bridges.mqtt.named, ...createAwsBridges(bridges)])
}

/** Returns the change for a bridge that exists. */
function createChange(bridge: string, settings: NewBridgeSettings, config: GodwitConfig): ConfigObject | ConfigRefusal {
  const now = listBridges(config).get(bridge)
  if (now === undefined) return refuseProblem({ problem: `the bridge ${bridge} is no longer configured` })
  return createSection(bridge, typeof settings === 'function' ? settings(now) : settings)
}

/** Returns a configuration with one bridge; `settings` null: without it. */
function createSection(bridge: string, settings: object | null): ConfigObject | ConfigRefusal {
  const atAws = parseAwsBridgeName(bridge)
  const bridges = atAws === undefined ? { mqtt: { [bridge]: settings } } : { aws: { [atAws]: settings } }
  const parsed = parseHocon(JSON.stringify({ bridges }), { file: 'request' })
  return 'errors' in parsed ? refuseErrors('invalid', parsed.errors) : parsed.value
}

/** Returns the certificates in a file, as PEM; undefined: missing or unreadable. Returns only certificates: a caller who may name a file must not see other contents of it. */
export async function readCertificates(file: string): Promise<string | undefined> {
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
