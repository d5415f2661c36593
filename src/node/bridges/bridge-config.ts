// The bridges of the node: created from the configuration, with the last reported state of each.
//
//   plan: settings are read and files checked         here, with error texts
//     -> all shards, each of which runs its own       see `bridges/bridge-manager.ts`

import { readFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type BridgeFacts, toBridgeSettings, toConnectTimeoutMs } from '../../bridges/index.ts'
import { toSourceBridgeName, parseSourceBridgeName } from '../../core/index.ts'
import {
  createAwsBridges,
  type GodwitConfig,
  type MqttBridgeConfig,
  parseServerUrl,
  toSpoolMessages,
  selectBridgeTls,
  isPeerVerified,
} from '../../config/index.ts'
import type { BridgeLink, BridgeAssignment, BridgeReport } from '../../shard/index.ts'
import { findDialFilesProblem } from '../../transports/index.ts'
import { toMqttSources } from './to-mqtt-sources.ts'
import type { ConfigConsumer, Problem } from '../configuration/config-consumers.ts'

export interface BridgeConfigOptions {
  readonly plans: readonly BridgeAssignment[]
  /** Secret of this node, from which its broker ID for bridges is derived. */
  readonly secret: Uint8Array
  /** Sends the bridges to the shards. Resolves when every shard has applied them. */
  sendToShards(plans: readonly BridgeAssignment[]): Promise<void>
  /** Queries the shards. Bridges of unavailable shards are omitted. */
  readReports(): Promise<readonly BridgeReport[]>
}

const cachePrefix = 'bridges.mqtt.cache.'

export class BridgeConfig implements ConfigConsumer {
  readonly isAlwaysApplied = true
  readonly #options: BridgeConfigOptions
  #plans: readonly BridgeAssignment[]
  /** Last report of each shard. */
  readonly #reports = new Map<number, readonly BridgeReport[]>()

  constructor(options: BridgeConfigOptions) {
    this.#options = options
    this.#plans = options.plans
  }

  canApply(key: string): boolean {
    if (key.startsWith('bridges.aws.')) return true
    return key.startsWith('bridges.mqtt.') && (!key.startsWith(cachePrefix) || key === `${cachePrefix}disk_cache_size`)
  }

  async apply(config: GodwitConfig): Promise<Problem | undefined> {
    const planned = planBridges(config, this.#options.secret)
    if ('problem' in planned) return planned
    const { plans } = planned
    if (isDeepStrictEqual(plans, this.#plans)) return undefined
    const known = new Map(this.#plans.map((plan) => [plan.name, plan]))
    const changed = plans.filter((plan) => !isDeepStrictEqual(known.get(plan.name), plan))
    for (const plan of changed) {
      const problem = findFileProblem(plan)
      if (problem !== undefined) return { problem }
    }
    await this.#options.sendToShards(plans)
    this.#plans = plans
    return undefined
  }

  /** Stores the bridges that a shard reported. */
  recordReports(shard: number, reports: readonly BridgeReport[]): void {
    this.#reports.set(shard, reports)
  }

  /** The last reports of all bridges, at most a second old. */
  get latest(): readonly BridgeReport[] {
    return this.#latest.filter(({ name }) => parseSourceBridgeName(name) === undefined)
  }

  /** The last reports of the bridges of sources, at most a second old. */
  get latestOfSources(): readonly BridgeReport[] {
    return this.#latest.filter(({ name }) => parseSourceBridgeName(name) !== undefined)
  }

  get #latest(): readonly BridgeReport[] {
    return [...this.#reports.values()].flat()
  }

  /** Certificates of enabled bridges. */
  get certificates(): { readonly of: string; readonly file: string }[] {
    return this.#plans.flatMap(({ name, config, facts }) => {
      const { certFile } = (facts.link as BridgeLink).tls
      return config.enable && certFile !== undefined ? [{ of: `bridge ${name}`, file: certFile }] : []
    })
  }

  /** Current reports by name; bridges of a restarting shard are missing. */
  async readReports(): Promise<ReadonlyMap<string, BridgeReport>> {
    if (this.#plans.length === 0) return new Map()
    return new Map((await this.#options.readReports()).map((report) => [report.name, report]))
  }
}

/** Creates the bridges of the configuration. A problem starts with the key of a setting. */
export function planBridges(
  config: GodwitConfig,
  secret: Uint8Array,
): { readonly plans: readonly BridgeAssignment[] } | Problem {
  const { bridges, core } = config
  const brokerId = deriveBrokerId(secret)
  const spoolMessages = toSpoolMessages(bridges.mqtt.cache)
  const plans: BridgeAssignment[] = []
  const add = (
    name: string,
    bridge: MqttBridgeConfig,
    where: Pick<BridgeFacts, 'key' | 'isOfAws'>,
  ): Problem | undefined => {
    const facts = { brokerId, link: toLink(bridge, core.maxPacketBytes), spoolMessages, ...where }
    const read = toBridgeSettings(name, bridge, facts)
    if ('problem' in read) return read
    plans.push({ name, config: bridge, facts })
    return undefined
  }
  for (const [name, bridge] of bridges.mqtt.named) {
    const problem = add(name, bridge, { key: `bridges.mqtt.${name}` })
    if (problem !== undefined) return problem
  }
  for (const [name, bridge] of createAwsBridges(bridges)) {
    const problem = add(name, bridge, { key: `bridges.${name}`, isOfAws: true })
    if (problem !== undefined) return problem
  }
  const sources = toMqttSources(config)
  if ('problem' in sources) return sources
  for (const [name, bridge] of sources.bridges) {
    const problem = add(toSourceBridgeName(`mqtt:${name}`), bridge, { key: `sources.mqtt.${name}` })
    if (problem !== undefined) return problem
  }
  return { plans }
}

const brokerIdCharacters = 16

/** Returns an ID that is derived from the secret: it does not reveal the secret, and changes only with it. */
export function deriveBrokerId(secret: Uint8Array): string {
  return createHash('sha256').update('bridges').update(secret).digest('hex').slice(0, brokerIdCharacters)
}

/** Maximum streams for messages if topics have separate streams. */
const maxDataStreams = 64
/** Timeout of the handshake if the setting is 0. */
const defaultHandshakeMs = 60_000

function toLink(bridge: MqttBridgeConfig, maxMessageBytes: number): BridgeLink {
  const { tcp } = bridge
  const tls = selectBridgeTls(bridge)
  const hasStreams = bridge.multi_stream ?? bridge.quic_multi_stream
  return {
    connectTimeoutMs: toConnectTimeoutMs(bridge),
    quicHandshakeTimeoutMs: bridge.quic_handshake_timeout === 0 ? defaultHandshakeMs : bridge.quic_handshake_timeout,
    usesTls: tls.enable,
    noDelay: tcp.nodelay,
    keepAliveAfterMs: tcp.keepalive ? tcp.keepidle : undefined,
    networkInterface: toOptionalText(tcp.bind_interface),
    maxMessageBytes,
    tls: {
      verifyPeer: isPeerVerified(tls),
      caFile: resolveFile(tls.cacertfile),
      certFile: resolveFile(tls.certfile),
      keyFile: resolveFile(tls.keyfile),
      keyPassword: toOptionalText(tls.key_password),
    },
    quic: {
      keepAliveMs: bridge.quic_keepalive,
      idleTimeoutMs: bridge.quic_idle_timeout,
      dataStreams: hasStreams ? Math.min(maxDataStreams, bridge.max_parallel_processes) : 0,
    },
  }
}

/** Sample files contain "" for unused settings. */
function toOptionalText(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

function resolveFile(file: string | undefined): string | undefined {
  return file === undefined || file === '' ? undefined : resolve(file)
}

/**
 * Returns why the bridges of `config` that differ from `known` are invalid; undefined: valid. `texts`: files that do
 * not exist yet, by path.
 */
export function findBridgeProblem(
  config: GodwitConfig,
  known: GodwitConfig,
  texts: ReadonlyMap<string, Buffer>,
): string | undefined {
  const [planned, before] = [planBridges(config, placeholderSecret), planBridges(known, placeholderSecret)]
  if ('problem' in planned) return planned.problem
  const plans = new Map('plans' in before ? before.plans.map((plan) => [plan.name, plan]) : [])
  const read = (file: string): Buffer => texts.get(file) ?? readFileSync(file)
  for (const plan of planned.plans) {
    const problem = isDeepStrictEqual(plans.get(plan.name), plan) ? undefined : findFileProblem(plan, read)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Secret for plans that are only compared. */
const placeholderSecret = new Uint8Array(32)

/** Returns why the certificate files of an enabled bridge cannot be used. Not called at the start, when the files may not exist yet. */
function findFileProblem(
  { name, config, facts }: BridgeAssignment,
  read?: (file: string) => Buffer,
): string | undefined {
  const { usesTls, tls } = facts.link as BridgeLink
  const servers = [config.server ?? '', ...(config.hybrid_bridging ? config.hybrid_servers : [])]
  const isSecure = usesTls || servers.some((server) => isSecureServer(server))
  const problem = config.enable && isSecure ? findDialFilesProblem(tls, read) : undefined
  return problem === undefined ? undefined : `${facts.key ?? name}.${config.tls.isSet ? 'tls' : 'ssl'}.${problem}`
}

function isSecureServer(server: string): boolean {
  const parsed = parseServerUrl(server)
  return 'url' in parsed && ['tls', 'wss', 'quic'].includes(parsed.url.scheme)
}
