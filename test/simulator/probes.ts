// When all is quiet a fresh client on each shard asks for what is retained, and for what only one may have.

import { shardOf } from '../../src/core/index.ts'
import { exclusiveFilters, type Actor } from './scenario-clients.ts'
import type { ScenarioFeatures } from './scenario-features.ts'
import type { Client, World } from './world.ts'

const isProbe = (client: Client): boolean => client.id.startsWith('probe-')

/** One for each shard, connected. */
export function placeProbes(world: World): Client[] {
  const count = world.host.shards.length
  const probes = new Map<number, Client>()
  for (let number = 1; probes.size < count; number++) {
    const id = `probe-${number}`
    const shard = shardOf(id, count)
    if (!probes.has(shard)) probes.set(shard, world.client(id, { version: 5, cleanStart: true }))
  }
  for (const probe of probes.values()) probe.connect()
  return [...probes.values()]
}

export function askProbes(probes: readonly Client[], features: ScenarioFeatures): void {
  for (const probe of probes) probe.subscribe('state/#', { qos: 2 })
  if (!features.exclusive) return
  // One after the other would be told of each other.
  for (const filter of exclusiveFilters) probes[0].subscribe(filter)
}

export function probesOf(world: World): Client[] {
  return world.clients.filter(isProbe)
}

/** An exclusive subscription has one holder; without one any client can become it. */
export function checkExclusive(world: World, actors: readonly Actor[]): void {
  const [probe] = probesOf(world)
  for (const asked of probe.session?.subscriptions ?? []) {
    const { filter } = asked.request
    if (!filter.startsWith('$exclusive/')) continue
    const sessions = actors.flatMap(({ client }) => client.session ?? [])
    const held = sessions
      .flatMap(({ subscriptions }) => subscriptions)
      .filter(({ request }) => request.filter === filter)
    const perhaps = held.filter((one) => !one.isRefused && one.endedStep === Infinity)
    const certain = perhaps.filter((one) => one.grantedStep !== Infinity && one.endSentStep === Infinity)
    if (certain.length > 1) world.stage.fail(`${certain.length} sessions hold ${filter}`)
    if (asked.grantedStep === Infinity && !asked.isRefused) world.stage.fail(`no response to ${filter}`)
    const isGranted = asked.grantedStep !== Infinity
    if (isGranted && certain.length > 0) world.stage.fail(`a second session was granted ${filter}`)
    if (asked.isRefused && perhaps.length === 0) world.stage.fail(`${filter} was refused, and no session holds it`)
  }
}
