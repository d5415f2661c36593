// MQTT-SN devices over a network that loses, repeats and reorders datagrams, with a broker that restarts.
//
// Checked: a message of a device that was acknowledged has reached the reader, exactly once at QoS 2. A message of a writer that
// was acknowledged reaches the device at least once, first in the order of writing. A sleeping device is still registered
// when it returns, whatever happened to the broker.

import { MqttSnGateway, PredefinedTopics } from '../../../src/gateways/index.ts'
import { snSettings } from '../../gateways/gateway-settings.ts'
import type { Publication } from '../client-session.ts'
import { World } from '../world.ts'
import { GatewayHost } from './gateway-host.ts'
import { LossyNetwork, reliable } from './lossy-network.ts'
import { SimulatedSnDevice } from './simulated-sn-device.ts'
import { type GatewayScenario, randomTraits, type ScenarioOptions } from './gateway-scenario.ts'

const settings = {
  ...snSettings,
  predefined: new PredefinedTopics([]),
  retryIntervalMs: 5_000,
  // No client is removed by chance, because a device could not distinguish that from falling asleep.
  maxRetries: 12,
  maxClients: 64,
}
const steps = 40
const sleepSeconds = 3_000

export function runSnScenario(seed: number, { isRecorded = false, damage }: ScenarioOptions = {}): GatewayScenario {
  const world = new World({ seed, isRecorded, shards: 1 })
  const { random } = world.stage
  const network = new LossyNetwork(world.stage, randomTraits(random))
  const host = new GatewayHost(world, network, (dependencies) => new MqttSnGateway(settings, dependencies))
  damage?.(network)
  const lasting = { cleanStart: false, sessionExpirySeconds: 1_000_000 }
  const reader = world.connect('reader', lasting)
  const writer = world.connect('writer', lasting)
  reader.subscribe('up/#', { qos: 2 })
  const starts = (): number => host.starts
  const devices = ['a', 'b'].map(
    (id, at) => new SimulatedSnDevice(world.stage, network, { id, port: 1_000 + at, starts }),
  )
  for (const device of devices) device.connect()
  const acknowledged: { readonly payload: string; readonly qos: 1 | 2 }[] = []
  const written = new Map<string, { readonly payload: string; readonly publication: Publication }[]>()
  let nextPort = 2_000
  for (let step = 0; step < steps; step++) {
    const device = random.pick(devices)
    const action = random.between(0, 9)
    const payload = `${device.id}-${step}`
    if (action <= 3 && device.isSubscribed) {
      const list = written.get(device.id) ?? []
      list.push({ payload, publication: writer.publish(`down/${device.id}`, payload, { qos: 1 }) })
      written.set(device.id, list)
    } else if (!device.isIdle) {
      // The device is busy: only time passes.
    } else if (device.state === 'active' && action <= 7) {
      const qos = random.chance(0.5) ? 1 : 2
      device.publish(payload, qos, () => acknowledged.push({ payload, qos }))
    } else if (device.state === 'active') device.sleep(sleepSeconds)
    else if (device.state === 'asleep') {
      if (random.chance(0.2)) device.connect()
      else device.fetch(random.chance(0.3) ? nextPort++ : undefined)
    }
    if (random.chance(0.07)) {
      host.restart(random.pick(['graceful', 'kill', 'power-loss']))
      reader.connect()
      writer.connect()
    }
    world.passMs(random.between(0, 20_000))
  }
  network.traits = reliable
  world.passSeconds(300)
  for (const device of devices) if (device.isIdle) device.connect()
  world.passSeconds(600)
  const faults = [
    ...faultsOfPublications(acknowledged, reader.payloads),
    ...devices.flatMap((device) => {
      const taken = (written.get(device.id) ?? []).filter(({ publication }) => publication.isComplete)
      const asleep = device.disconnectsAsleep > 0 ? [`${device.id} slept and was not known any more`] : []
      const busy = device.isIdle ? [] : [`${device.id} has no response to its last request`]
      return [
        ...asleep,
        ...busy,
        ...faultsOfDeliveries(
          device,
          taken.map((one) => one.payload),
        ),
      ]
    }),
  ]
  const delivered = acknowledged.length + devices.reduce((sum, { received }) => sum + received.length, 0)
  return { faults, delivered, lost: network.lost, log: world.log }
}

function faultsOfPublications(
  acknowledged: readonly { readonly payload: string; readonly qos: 1 | 2 }[],
  received: readonly string[],
): string[] {
  return acknowledged.flatMap(({ payload, qos }) => {
    const times = received.filter((one) => one === payload).length
    const isRight = qos === 2 ? times === 1 : times >= 1
    return isRight ? [] : [`${payload} of QoS ${qos} was acknowledged and has reached the reader ${times} times`]
  })
}

function faultsOfDeliveries({ id, received }: SimulatedSnDevice, written: readonly string[]): string[] {
  const missing = written.filter((payload) => !received.includes(payload))
  const first = [...new Set(received)].filter((payload) => written.includes(payload))
  const inOrder = written.filter((payload) => first.includes(payload))
  const faults = missing.map((payload) => `${payload} was taken and has not reached ${id}`)
  if (first.join(' ') !== inOrder.join(' ')) faults.push(`${id} received out of order: ${first.join(' ')}`)
  return faults
}
