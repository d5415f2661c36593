// Gateways of the node while it runs: what the configuration makes of them. Each socket is given to one shard.

import { isDeepStrictEqual } from 'node:util'
import type { GodwitConfig } from '../../config/index.ts'
import { shardOf } from '../../core/index.ts'
import type { GatewayAssignment, GatewayPlan, GatewayType } from '../../shard/index.ts'
import { listenErrorText } from '../../transports/index.ts'
import type { ConfigConsumer, Problem } from '../configuration/config-consumers.ts'
import { hostsOfPort, isLoopbackAddress } from '../listeners/listener-addresses.ts'
import { reserveUdpPort } from '../listeners/reserve-port.ts'

/** Above the numbers of all other listeners, and never given again while the node runs. */
const firstNumber = 1_000_000

const protocols = { mqttsn: { name: 'MQTT-SN', version: 1 }, coap: { name: 'CoAP', version: 1 } } as const
export const gatewayTypes = Object.keys(protocols) as GatewayType[]

export function protocolNameOf(type: GatewayType): string {
  return protocols[type].name
}

type Planned = { readonly plan: GatewayPlan } | Problem

export class GatewayPlanner {
  readonly #shards: number
  #nextNumber = firstNumber

  constructor(shards: number) {
    this.#shards = shards
  }

  /** `before`: what is open now; what stays the same keeps its socket. A problem begins with the key of a setting. */
  async plan(config: GodwitConfig, before: GatewayPlan): Promise<Planned> {
    const plan: GatewayAssignment[] = []
    for (const type of gatewayTypes) {
      const gateway = config.gateways[type]
      if (!gateway.enable) continue
      for (const [name, listener] of gateway.listeners.udp.named) {
        if (!listener.enable) continue
        const key = `gateway.${type}.listeners.udp.${name}.bind`
        const known = before.find((one) => one.type === type && one.listener.name === name)
        const [host = '127.0.0.1'] = listener.bind.host === undefined ? hostsOfPort(config) : [listener.bind.host]
        const assignment = this.#assign(type, name, { config, host, known })
        if (known !== undefined && isDeepStrictEqual(withoutNumber(known), withoutNumber(assignment))) {
          plan.push(known)
          continue
        }
        const isOwn = before.some(({ listener: one }) => one.host === host && one.port === listener.bind.port)
        const problem = isOwn ? undefined : await problemOfPort(host, listener.bind.port)
        if (problem !== undefined) return { problem: `${key}: ${problem}` }
        plan.push(assignment)
      }
    }
    return { plan }
  }

  #assign(
    type: GatewayType,
    name: string,
    { config, host, known }: { config: GodwitConfig; host: string; known: GatewayAssignment | undefined },
  ): GatewayAssignment {
    const gateway = config.gateways[type]
    const listener = gateway.listeners.udp.named.get(name)
    const {
      bind,
      max_connections: maxClients,
      access_rules: accessRules,
      namespace,
    } = listener ?? {
      bind: { port: 0 },
      max_connections: 0,
      access_rules: [],
      namespace: undefined,
    }
    // A port of 0 is for tests: it is chosen once.
    const port = bind.port
    return {
      type,
      maxClients,
      listener: {
        number: this.#nextNumber++,
        kind: 'udp',
        name,
        host,
        port: port === 0 ? (known?.listener.port ?? 0) : port,
        maxConnections: undefined,
        isLoopback: isLoopbackAddress(host),
        onlyOnShard: shardOf(`${type}:udp:${name}`, this.#shards),
        sharesPort: false,
        accessRules,
        namespace,
        mountpoint: gateway.mountpoint,
        gateway: protocols[type],
      },
      [type]: gateway,
    }
  }
}

function withoutNumber({ listener, ...others }: GatewayAssignment): unknown {
  const { number: _, ...kept } = listener
  return { ...others, listener: kept }
}

async function problemOfPort(host: string, port: number): Promise<string | undefined> {
  try {
    const reserved = await reserveUdpPort(host, port)
    await reserved.release()
    return undefined
  } catch (error) {
    return listenErrorText(error as NodeJS.ErrnoException, host, port)
  }
}

export interface GatewayConfigOptions {
  readonly plan: GatewayPlan
  readonly planner: GatewayPlanner
  /** Resolves when every shard has it in force. */
  tell(plan: GatewayPlan): Promise<void>
}

export class GatewayConfig implements ConfigConsumer {
  readonly #options: GatewayConfigOptions
  #plan: GatewayPlan

  constructor(options: GatewayConfigOptions) {
    this.#options = options
    this.#plan = options.plan
  }

  get plan(): GatewayPlan {
    return this.#plan
  }

  owns(key: string): boolean {
    return key.startsWith('gateway.')
  }

  async apply(config: GodwitConfig): Promise<Problem | undefined> {
    const planned = await this.#options.planner.plan(config, this.#plan)
    if ('problem' in planned) return planned
    if (isDeepStrictEqual(planned.plan, this.#plan)) return undefined
    await this.#options.tell(planned.plan)
    this.#plan = planned.plan
    return undefined
  }
}
