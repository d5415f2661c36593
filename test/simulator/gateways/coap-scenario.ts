// CoAP devices over a network that loses, repeats and reorders datagrams.
//
// Checked: a confirmable request with a response was executed once, and one without a response at most once. A message
// whose writer got a success response reaches each observer, first in the order of writing.

import { CoapGateway } from '../../../src/gateways/index.ts'
import { World } from '../world.ts'
import { smallCoapSettings } from '../../gateways/gateway-settings.ts'
import { GatewayHost } from './gateway-host.ts'
import { LossyNetwork, reliable } from './lossy-network.ts'
import { SimulatedCoapDevice } from './simulated-coap-device.ts'
import { type GatewayScenario, randomTraits, type ScenarioOptions } from './gateway-scenario.ts'

const steps = 40
const post = 2
const observerToken = 9

export function runCoapScenario(seed: number, { isRecorded = false, damage }: ScenarioOptions = {}): GatewayScenario {
  const world = new World({ seed, isRecorded, shards: 1 })
  const { stage } = world
  const { random } = stage
  const network = new LossyNetwork(stage, { ...randomTraits(random), losesNoTwo: true })
  const host = new GatewayHost(world, network, (dependencies) => new CoapGateway(smallCoapSettings, dependencies))
  damage?.(network)
  const reader = world.subscriber('up/#', { qos: 2 })
  const writer = world.connect('writer')
  const publisher = new SimulatedCoapDevice(stage, network, 1_000)
  const observer = new SimulatedCoapDevice(stage, network, 1_001)
  const received: string[] = []
  observer.onNotification = ({ payload }) => void received.push(payload.toString())
  const observation = { hasBegun: false }
  observer.exchange(
    (device) => device.get('ps/down/b', 'clientid=b', { token: observerToken, observe: 0 }),
    (response) => (observation.hasBegun = response?.code === '2.05'),
  )
  const responses: string[] = []
  const requests: string[] = []
  const written: string[] = []
  for (let step = 0; step < steps; step++) {
    const payload = `m-${step}`
    if (random.chance(0.6)) {
      requests.push(payload)
      publisher.exchange(
        (device) => device.request(post, 'ps/up/a', 'clientid=a&qos=1', payload),
        (response) => {
          if (response?.code === '2.04') responses.push(payload)
        },
      )
    } else if (observation.hasBegun) {
      const publication = writer.publish('down/b', payload, { qos: 1 })
      if (publication.isComplete) written.push(payload)
    }
    world.passMs(random.between(0, 15_000))
  }
  network.traits = reliable
  world.passSeconds(600)
  const faults = [
    ...(host.starts === 0 ? [] : ['the broker has restarted']),
    ...requests.flatMap((payload) => {
      const times = reader.payloads.filter((one) => one === payload).length
      const isRight = responses.includes(payload) ? times === 1 : times <= 1
      return isRight ? [] : [`${payload} was carried out ${times} times`]
    }),
    ...written
      .filter((payload) => !received.includes(payload))
      .map((payload) => `${payload} has not reached the observer`),
    ...(isAscending([...new Set(received)], written) ? [] : [`observed out of order: ${received.join(' ')}`]),
  ]
  return { faults, delivered: responses.length + received.length, lost: network.lost, log: world.log }
}

function isAscending(received: readonly string[], written: readonly string[]): boolean {
  const known = received.filter((payload) => written.includes(payload))
  return known.join(' ') === written.filter((payload) => known.includes(payload)).join(' ')
}
