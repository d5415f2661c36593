// The gateways of the node, created from the configuration. Each socket is passed to the shards.

import { computeOwnerShard } from '../../core/index.ts'
import { lookup } from 'node:dns/promises'
import { isDeepStrictEqual } from 'node:util'
import type { ListenerAuthentication } from '../../access/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import { createAddressTable, type ObjectDefinition } from '../../gateways/index.ts'
import type { GatewayAssignment, GatewayPlan, GatewayType } from '../../shard/index.ts'
import { describeListenError } from '../../transports/index.ts'
import type { ConfigConsumer, Problem } from '../configuration/config-consumers.ts'
import { listHosts, listPortHosts, isLoopbackAddress } from '../listeners/listener-addresses.ts'
import { type Place, reserveTcpPort, reserveUdpPort } from '../listeners/reserve-port.ts'
import { createConnectionSlots } from '../shards/connection-slots.ts'
import { resolveListenerAuthentication } from './to-listener-authentication.ts'
import {
  type Gateway,
  type GatewaySocket,
  isDatagramSocket,
  findSecurityProblem,
  findSecurityProblems,
  toSecurity,
  listSockets,
} from './configured-sockets.ts'
import { loadObjects } from './load-objects.ts'

/** Number of the first gateway listener. The numbers are above those of all other listeners, and are not reused while the node runs. */
const firstNumber = 1_000_000

const protocols = {
  mqttsn: { name: 'MQTT-SN', version: 1 },
  coap: { name: 'CoAP', version: 1 },
  lwm2m: { name: 'LwM2M', version: 1 },
  stomp: { name: 'STOMP', version: 1 },
} as const
export const gatewayTypes = Object.keys(protocols) as GatewayType[]

export function findProtocolName(type: GatewayType): string {
  return protocols[type].name
}

type Planned = { readonly plan: GatewayPlan } | Problem

/** The settings of a socket. The socket stays open while they do not change. */
interface Source {
  readonly type: GatewayType
  readonly socket: GatewaySocket
  readonly gateway: Gateway
  /** Addresses to try, in order. */
  readonly hosts: readonly string[]
  /** Object definitions of LwM2M; undefined for other gateways. */
  readonly objects: readonly ObjectDefinition[] | undefined
}

export class GatewayPlanner {
  readonly #shards: number
  readonly #sources = new WeakMap<GatewayAssignment, Source>()
  #nextNumber = firstNumber

  constructor(shards: number) {
    this.#shards = shards
  }

  /** Creates the sockets of the configuration. `before`: the current sockets. A problem starts with the key of a setting. */
  async plan(config: GodwitConfig, before: GatewayPlan): Promise<Planned> {
    const plan: GatewayAssignment[] = []
    const loaded = await loadObjects(config.gateways.lwm2m.xml_dir)
    if ('problem' in loaded) return { problem: `gateway.lwm2m.xml_dir: ${loaded.problem}` }
    for (const source of listSources(config, loaded.objects)) {
      const known = before.find((one) => isSame(this.#sources.get(one), source))
      const authentication = resolveListenerAuthentication(source.type, source.gateway, source.socket)
      if ('problem' in authentication) return { problem: `${authentication.key}: ${authentication.problem}` }
      const place = known === undefined ? await resolveAddress(source, before) : known.listener
      const { kind } = source.socket
      const key = formatKey(source)
      if ('problem' in place) return { problem: `${key}.bind: ${place.problem}` }
      const socket = { kind, ...place }
      const other = plan.find(({ listener }) => isSameSocket(listener, socket))
      const ofListener = known === undefined ? findListener(config, socket) : undefined
      const takenBy = other === undefined ? ofListener : formatSettingKey(other)
      if (takenBy !== undefined) return { problem: describeTaken(`${key}.bind`, socket, takenBy) }
      const insecure = known === undefined ? findSecurityProblem(source.socket) : undefined
      if (insecure !== undefined) return { problem: `${key}.${insecure.setting}: ${insecure.message}` }
      const assignment = known ?? this.#assign(source, place, authentication.own)
      this.#sources.set(assignment, source)
      plan.push(assignment)
    }
    return { plan }
  }

  #assign(
    { type, socket, gateway, objects }: Source,
    { host, port }: Place,
    authentication: ListenerAuthentication | undefined,
  ): GatewayAssignment {
    const { kind, name, listener } = socket
    const isDatagram = isDatagramSocket(socket)
    const { dtls, listener: secured } = toSecurity(socket)
    return {
      type,
      ...(dtls === undefined ? {} : { dtls }),
      ...(objects === undefined ? {} : { objects }),
      ...(isDatagram ? { addresses: createAddressTable(this.#shards) } : {}),
      maxClients: listener.max_connections,
      datagramNumber: this.#nextNumber++,
      receiveBufferBytes: listener.recbuf,
      sendBufferBytes: listener.sndbuf,
      listener: {
        number: this.#nextNumber++,
        kind,
        name,
        host,
        port,
        maxConnections: listener.max_connections,
        connectionSlots: createConnectionSlots(this.#shards),
        maxConnectionRate: Number.parseInt(listener.max_conn_rate, 10) / (dtls === undefined ? this.#shards : 1),
        isLoopback: isLoopbackAddress(host),
        // One shard has the keys of a DTLS association, so it has the socket.
        ...(dtls === undefined ? {} : { onlyOnShard: computeOwnerShard(`${type}:${kind}:${name}`, this.#shards) }),
        sharesPort: dtls === undefined && this.#shards > 1,
        accessRules: listener.access_rules,
        namespace: listener.namespace,
        // The LwM2M gateway adds its own prefix, because only it knows endpoint names.
        mountpoint: listener.mountpoint ?? (type === 'lwm2m' ? '' : gateway.mountpoint),
        authentication,
        gateway: protocols[type],
        ...secured,
      },
      [type]: gateway,
    }
  }
}

/** Returns every reason why a socket cannot be opened. Each starts with the key of a setting. */
export async function findGatewayProblems(
  config: GodwitConfig,
  { checksPorts }: { readonly checksPorts: boolean },
): Promise<string[]> {
  const loaded = await loadObjects(config.gateways.lwm2m.xml_dir)
  const sockets: (Socket & { readonly key: string })[] = []
  const problems = 'problem' in loaded ? [`gateway.lwm2m.xml_dir: ${loaded.problem}`] : []
  for (const source of listSources(config, 'problem' in loaded ? [] : loaded.objects)) {
    const key = formatKey(source)
    const authentication = resolveListenerAuthentication(source.type, source.gateway, source.socket)
    if ('problem' in authentication) problems.push(`${authentication.key}: ${authentication.problem}`)
    for (const { setting, message } of findSecurityProblems(source.socket))
      problems.push(`${key}.${setting}: ${message}`)
    const place = checksPorts ? await resolveAddress(source, []) : undefined
    if (place !== undefined && 'problem' in place) problems.push(`${key}.bind: ${place.problem}`)
    const { kind, listener } = source.socket
    const socket = { kind, host: source.hosts[0] ?? '', port: listener.bind.port }
    const takenBy = sockets.find((other) => isSameSocket(other, socket))?.key ?? findListener(config, socket)
    if (socket.port !== 0 && takenBy !== undefined) problems.push(describeTaken(`${key}.bind`, socket, takenBy))
    sockets.push({ key, ...socket })
  }
  // Listeners with the same authentication have the same problem.
  return [...new Set(problems)]
}

function formatKey({ type, socket: { kind, name } }: Source): string {
  return `gateway.${type}.listeners.${kind}.${name}`
}

/** Returns whether two sources need the same socket. Changes of other listeners of the gateway do not count, so clients stay connected. */
function isSame(before: Source | undefined, now: Source): boolean {
  const omitListeners = (source: Source | undefined) =>
    source && { ...source, gateway: { ...source.gateway, listeners: undefined } }
  return isDeepStrictEqual(omitListeners(before), omitListeners(now))
}

function listSources(config: GodwitConfig, loaded: readonly ObjectDefinition[]): readonly Source[] {
  return gatewayTypes.flatMap((type) => {
    const gateway = config.gateways[type]
    if (!gateway.enable) return []
    return listSockets(gateway).flatMap((socket) => {
      const { listener } = socket
      if (!listener.enable) return []
      const hosts = listener.bind.host === undefined ? listPortHosts(config) : [listener.bind.host]
      const objects = type === 'lwm2m' ? loaded : undefined
      return [{ type, socket, gateway, hosts, objects }]
    })
  })
}

/** Returns the status of a gateway. `unloaded`: it has no listener. `stopped`: it is disabled. */
export function deriveStatus(gateway: Gateway): 'running' | 'stopped' | 'unloaded' {
  if (listSockets(gateway).length === 0) return 'unloaded'
  return gateway.enable ? 'running' : 'stopped'
}

/** Returns address and port of a socket, after a check that the port is free. A port of a current gateway socket counts as free. */
async function resolveAddress({ socket, hosts }: Source, before: GatewayPlan): Promise<Place | Problem> {
  const { kind, listener } = socket
  const { port } = listener.bind
  let problem = 'the host name has no address'
  for (const host of hosts) {
    try {
      const { address } = await lookup(host)
      const isOwn = before.some(({ listener: one }) => one.kind === kind && one.host === address && one.port === port)
      if (isOwn) return { host: address, port }
      const reserved = await (isDatagramSocket(socket)
        ? reserveUdpPort(address, port)
        : reserveTcpPort(address, port, []))
      await reserved.release()
      return reserved.place
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      problem = describeListenError(error as NodeJS.ErrnoException, host, port)
      // The next host is tried only if the machine does not have this address.
      if (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL') return { problem }
    }
  }
  return { problem }
}

type Socket = Place & Pick<GatewayAssignment['listener'], 'kind'>

/** Sockets of several shards share their port, so the system does not refuse a second listener there. */
function isSameSocket(one: Socket, other: Socket): boolean {
  const isDatagram = ({ kind }: Socket): boolean => kind === 'udp' || kind === 'dtls'
  const isAnywhere = ({ host }: Socket): boolean => host === '0.0.0.0' || host === '::'
  const overlaps = one.host === other.host || isAnywhere(one) || isAnywhere(other)
  return one.port === other.port && isDatagram(one) === isDatagram(other) && overlaps
}

/**
 * Returns the setting of the MQTT listener with this address. The system would accept both, because shards share ports,
 * and give each connection to one of them.
 */
export function findListener(config: GodwitConfig, socket: Socket): string | undefined {
  const found = config.listeners.find((listener) =>
    listHosts(listener, config).some((host) =>
      isSameSocket({ kind: listener.kind === 'quic' ? 'udp' : 'tcp', host, port: listener.port }, socket),
    ),
  )
  return found === undefined ? undefined : `listeners.${found.kind}.${found.name}`
}

/** `key`: the setting of the address. */
export function describeTaken(key: string, { host, port }: Place, takenBy: string): string {
  return `${key}: ${host}:${port} is that of ${takenBy}; choose another one`
}

function formatSettingKey({ type, listener: { kind, name } }: GatewayAssignment): string {
  return `gateway.${type}.listeners.${kind}.${name}`
}

export interface GatewayConfigOptions {
  readonly config: GodwitConfig
  readonly plan: GatewayPlan
  readonly planner: GatewayPlanner
  /** Sends the sockets to the shards. Resolves when every shard has applied them. */
  sendToShards(plan: GatewayPlan): Promise<void>
}

/** Times at which a gateway was loaded, enabled and disabled since the start of the broker. */
export interface GatewayTimes {
  readonly createdAtMs: number | undefined
  readonly startedAtMs: number | undefined
  readonly stoppedAtMs: number | undefined
}

const never: GatewayTimes = { createdAtMs: undefined, startedAtMs: undefined, stoppedAtMs: undefined }

export class GatewayConfig implements ConfigConsumer {
  /** Object definitions in `gateway.lwm2m.xml_dir` may have changed. */
  readonly isAlwaysApplied = true
  readonly #options: GatewayConfigOptions
  #plan: GatewayPlan
  readonly #times = new Map<GatewayType, GatewayTimes>()

  constructor(options: GatewayConfigOptions) {
    this.#options = options
    this.#plan = options.plan
    this.#recordTimes(options.config)
  }

  readTimes(type: GatewayType): GatewayTimes {
    return this.#times.get(type) ?? never
  }

  #recordTimes({ gateways }: GodwitConfig): void {
    const nowMs = Date.now()
    for (const type of gatewayTypes) {
      const status = deriveStatus(gateways[type])
      const known = this.readTimes(type)
      if (status === 'unloaded') {
        this.#times.delete(type)
        continue
      }
      const { createdAtMs = nowMs } = known
      const wasRunning = known.startedAtMs !== undefined
      const wasStopped = known.stoppedAtMs !== undefined
      if (status === 'running' && !wasRunning)
        this.#times.set(type, { createdAtMs, startedAtMs: nowMs, stoppedAtMs: undefined })
      if (status === 'stopped' && !wasStopped)
        this.#times.set(type, { createdAtMs, startedAtMs: undefined, stoppedAtMs: nowMs })
    }
  }

  get plan(): GatewayPlan {
    return this.#plan
  }

  canApply(key: string): boolean {
    return key.startsWith('gateway.')
  }

  async apply(config: GodwitConfig): Promise<Problem | undefined> {
    const planned = await this.#options.planner.plan(config, this.#plan)
    if ('problem' in planned) return planned
    this.#recordTimes(config)
    if (isDeepStrictEqual(planned.plan, this.#plan)) return undefined
    await this.#options.sendToShards(planned.plan)
    this.#plan = planned.plan
    return undefined
  }
}
