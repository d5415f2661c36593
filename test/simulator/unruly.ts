// Clients that violate the protocol. The oracles ignore them; the broker and other clients must not be affected.

import { AckPacket, reasonCodes, type TopicFilter, type TopicName } from '../../src/protocol/index.ts'
import { calmNetwork } from './network.ts'
import type { World } from './world.ts'
import { encode, encodePublish, openWire, type Wire } from './wire.ts'
import { plainConnect } from './plain-connect.ts'

/** An incorrect client connects, violates the protocol, and leaves after some time. */
export function sendUnruly(world: World, isOver: () => boolean): undefined {
  const { stage, host } = world
  const { random } = stage
  if (isOver() || !host.isRunning || host.isStopping) return
  const name = `unruly-${random.between(1, 1_000_000)}`
  const version = random.pick([4, 5] as const)
  const wire = openWire(stage, host, {
    name: 'unruly',
    version,
    network: { ...calmNetwork, splits: random.chance(0.5) },
  })
  if (wire === undefined) return
  const greet = (): void => wire.send(greeting(name, version))
  const misbehave = random.pick(misbehaviours)
  misbehave(wire, { greet, world })
  stage.after(random.between(100, 8_000), () => wire.break(0))
}

interface ClientDependencies {
  greet: () => void
  world: World
}

const misbehaviours: ((wire: Wire, around: ClientDependencies) => void)[] = [
  function speakGarbage(wire, { world }) {
    wire.sendBytes(world.stage.random.bytes(world.stage.random.between(1, 200)))
  },
  function speakGarbageAfterGreeting(wire, { greet, world }) {
    greet()
    wire.sendBytes(world.stage.random.bytes(world.stage.random.between(1, 200)))
  },
  function greetTwice(_wire, { greet }) {
    greet()
    greet()
  },
  function sendHalfPacket(wire, { world }) {
    const bytes = encode(greeting('half', 5), 5)
    wire.sendBytes(bytes.subarray(0, world.stage.random.between(1, bytes.length - 1)))
  },
  function publishWithoutGreeting(wire) {
    wire.sendPublish({ topic: 'junk/a', payload: 'junk' })
  },
  function sendUnexpectedAcknowledgements(wire, { greet, world }) {
    greet()
    const { random } = world.stage
    for (let at = 0; at < 5; at++) {
      const type = random.pick(['puback', 'pubrec', 'pubrel', 'pubcomp'] as const)
      wire.send(new AckPacket(type, random.between(1, 5), reasonCodes.success, undefined))
    }
  },
  function neverAcknowledge(wire, { greet }) {
    greet()
    subscribe(wire, 't/#')
  },
  function neverReadAndFlood(wire, { greet }) {
    greet()
    subscribe(wire, 'junk/#')
    subscribe(wire, 't/#')
    wire.stopReading()
    for (let at = 0; at < 60; at++) wire.sendPublish({ topic: `junk/${at % 7}`, payload: 'x'.repeat(500) })
  },
  function exceedEveryMaximum(wire, { greet }) {
    greet()
    for (let id = 1; id <= 150; id++) wire.sendPublish({ topic: 'junk/many', payload: 'junk', qos: 2, packetId: id })
  },
  function useOnePacketIdForAll(wire, { greet }) {
    greet()
    for (let at = 0; at < 4; at++) wire.sendPublish({ topic: `junk/${at}`, payload: 'junk', qos: 2, packetId: 1 })
    subscribe(wire, 'junk/#')
  },
  function cutEveryPacketShort(wire, { greet, world }) {
    greet()
    const bytes = encodePublish({ topic: 'junk/a', payload: 'junk', qos: 1, packetId: 3 }, wire.version)
    const at = world.stage.random.between(0, bytes.length - 1)
    bytes[at] = world.stage.random.word() & 0xff
    wire.sendBytes(bytes)
  },
]

function subscribe(wire: Wire, filter: string): void {
  const request = {
    filter: filter as TopicFilter,
    qos: 2,
    noLocal: false,
    retainAsPublished: false,
    retainHandling: 0,
  } as const
  wire.send({ type: 'subscribe', packetId: 1, subscriptions: [request], properties: undefined })
}

function greeting(clientId: string, version: 4 | 5): Parameters<Wire['send']>[0] {
  const will = {
    topic: 'junk/will' as TopicName,
    payload: Buffer.from('junk'),
    qos: 1,
    retain: false,
    properties: undefined,
  } as const
  return plainConnect(version, clientId, { will })
}
