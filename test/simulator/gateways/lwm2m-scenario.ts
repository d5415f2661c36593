// An LwM2M device in queue mode over a network that loses, repeats and reorders datagrams, with a broker that restarts while it sleeps.
//
// Checked: the device executes each command of any QoS once, and each has one response.

import { Lwm2mGateway, ObjectDefinitions } from '../../../src/gateways/index.ts'
import { World } from '../world.ts'
import { GatewayHost } from './gateway-host.ts'
import { LossyNetwork } from './lossy-network.ts'
import { SimulatedCoapDevice } from './simulated-coap-device.ts'
import { type GatewayScenario, randomTraits, type ScenarioOptions } from './gateway-scenario.ts'

const translator = (topic: string) => ({ topic, qos: 0 }) as const
const settings = {
  lifetimeMinSeconds: 15,
  lifetimeMaxSeconds: 86_400,
  queueModeWindowMs: 22_000,
  observesAll: false,
  publishesAllUpdates: false,
  mountpoint: 'lwm2m/${endpoint_name}/',
  translators: {
    command: translator('dn/#'),
    response: translator('up/resp'),
    notify: translator('up/notify'),
    register: translator('up/resp'),
    update: translator('up/update'),
  },
  objects: new ObjectDefinitions(),
  maxClients: 16,
  override: { clientId: undefined, username: undefined, password: undefined },
} as const
const cycles = 6
const post = 2

interface Result {
  readonly reqID?: number
  readonly msgType?: string
  readonly data?: { readonly code?: string }
}

export function runLwm2mScenario(seed: number, { isRecorded = false, damage }: ScenarioOptions = {}): GatewayScenario {
  const world = new World({ seed, isRecorded, shards: 1 })
  const { stage } = world
  const { random } = stage
  const network = new LossyNetwork(stage, { ...randomTraits(random), losesNoTwo: true })
  const host = new GatewayHost(world, network, (dependencies) => new Lwm2mGateway(settings, dependencies))
  damage?.(network)
  const lasting = { cleanStart: false, sessionExpirySeconds: 1_000_000 }
  const operator = world.connect('operator', lasting)
  operator.subscribe('lwm2m/dev/up/#', { qos: 1 })
  const device = new SimulatedCoapDevice(stage, network, 1_000)
  const carriedOut: string[] = []
  device.onRequest = ({ path }) => {
    carriedOut.push(path)
    return { code: '2.05', content: { format: 0, payload: 'x' } }
  }
  const registration = { location: '' }
  const register = (): void =>
    device.exchange(
      (codec) => codec.request(post, 'rd', 'ep=dev&lt=86400&b=UQ', '</3/0>'),
      (response) => {
        if (response?.code === '2.01') registration.location = response.location[1] ?? ''
        else register()
      },
    )
  const update = (): void =>
    device.exchange(
      (codec) => codec.request(post, `rd/${registration.location}`, '', ''),
      (response) => {
        if (response === undefined) update()
        else if (response.code !== '2.04') register()
      },
    )
  register()
  world.passSeconds(120)
  let reqID = 0
  const command = (): void => {
    reqID++
    const document = { reqID, msgType: 'read', data: { path: `/3/0/${reqID}` } }
    operator.publish('lwm2m/dev/dn/x', JSON.stringify(document), { qos: random.chance(0.5) ? 0 : 1 })
    world.passMs(random.between(0, 2_000))
  }
  for (let cycle = 0; cycle < cycles; cycle++) {
    for (let count = random.between(0, 3); count > 0; count--) command()
    world.passSeconds(300)
    device.isRadioOn = false
    for (let count = random.between(0, 3); count > 0; count--) command()
    if (random.chance(0.5)) {
      // The gateway has all published messages and no pending work.
      world.passSeconds(300)
      host.restart(random.pick(['graceful', 'kill', 'power-loss']))
      operator.connect()
      world.passSeconds(1)
      for (let count = random.between(0, 2); count > 0; count--) command()
    }
    world.passSeconds(random.between(1, 300))
    device.isRadioOn = true
    if (random.chance(0.2)) register()
    else update()
    world.passSeconds(300)
  }
  const results = operator.payloads.map((text) => JSON.parse(text) as Result)
  const faults: string[] = []
  for (let id = 1; id <= reqID; id++) {
    const own = results.filter((one) => one.reqID === id && one.msgType === 'read')
    const times = carriedOut.filter((path) => path === `/3/0/${id}`).length
    if (own.length !== 1 || own[0]?.data?.code !== '2.05') faults.push(`command ${id} has ${own.length} responses`)
    if (times !== 1) faults.push(`command ${id} was carried out ${times} times`)
  }
  if (!device.isIdle) faults.push('a request of the device has no response')
  return { faults, delivered: results.length, lost: network.lost, log: world.log }
}
