// After the scenario, a new client on each shard subscribes to all retained messages and to the exclusive filters.

import { computeOwnerShard } from '../../src/core/index.ts'
import { exclusiveFilters, type Actor } from './scenario-clients.ts'
import type { ScenarioFeatures } from './scenario-features.ts'
import type { Client, World } from './world.ts'

const isProbe = (client: Client): boolean => client.id.startsWith('probe-')

/** Returns one connected client for each shard. */
export function placeProbes(world: World): Client[] {
  const count = world.host.shards.length
  const probes = new Map<number, Client>()
  for (let number = 1; probes.size < count; number++) {
    const id = `probe-${number}`
    const shard = computeOwnerShard(id, count)
    if (!probes.has(shard)) probes.set(shard, world.client(id, { version: 5, cleanStart: true }))
  }
  for (const probe of probes.values()) probe.connect()
  return [...probes.values()]
}

export function subscribeProbes(probes: readonly Client[], features: ScenarioFeatures): void {
  for (const probe of probes) probe.subscribe('state/#', { qos: 2 })
  if (!features.exclusive) return
  // A second probe would be refused because of the first.
  for (const filter of exclusiveFilters) probes[0].subscribe(filter)
}

export function probesOf(world: World): Client[] {
  return world.clients.filter(isProbe)
}

/** An exclusive subscription has one holder; without a holder, any client can get it. */
export function checkExclusive(world: World, actors: readonly Actor[]): void {
  const [probe] = probesOf(world)
  for (const subscription of probe.session?.subscriptions ?? []) {
    const { filter } = subscription.request
    if (!filter.startsWith('$exclusive/')) continue
    const sessions = actors.flatMap(({ client }) => client.session ?? [])
    const held = sessions
      .flatMap(({ subscriptions }) => subscriptions)
      .filter(({ request }) => request.filter === filter)
    const perhaps = held.filter((one) => !one.isRefused && one.endedStep === Infinity)
    const certain = perhaps.filter((one) => one.grantedStep !== Infinity && one.endSentStep === Infinity)
    if (certain.length > 1) world.stage.fail(`${certain.length} sessions hold ${filter}`)
    if (subscription.grantedStep === Infinity && !subscription.isRefused) world.stage.fail(`no response to ${filter}`)
    const isGranted = subscription.grantedStep !== Infinity
    if (isGranted && certain.length > 0) world.stage.fail(`a second session was granted ${filter}`)
    if (subscription.isRefused && perhaps.length === 0)
      world.stage.fail(`${filter} was refused, and no session holds it`)
  }
}
