// Statements of MQTT 3.1.1 and 5.0 about servers that a client can check within seconds. Each statement has its number in both
// standards, if both have it.

import { packetTypes } from '../../../src/protocol/index.ts'
import {
  ackFrame,
  connectFrame,
  frame,
  pingreqFrame,
  publishFrame,
  subscribeFrame,
  text,
  uint16,
  unsubscribeFrame,
} from '../wire.ts'
import { type CheckedClient, Violation } from './checked-client.ts'

/** The client ID and the functions of one check. */
export interface CheckContext {
  /** Unique client ID and topic prefix of this check, so that checks do not affect each other. */
  readonly name: string
  /** Opens a connection that has not sent a packet. */
  readonly open: () => Promise<CheckedClient>
  /** Opens a connection and waits for an accepting CONNACK. The session is clean unless `isPersistent`. */
  readonly connectClient: (clientId: string, isPersistent?: boolean) => Promise<CheckedClient>
}

export interface CheckedStatement {
  /** Number of the statement in MQTT 3.1.1; undefined: the version has no such statement. `v5`: that in MQTT 5.0. */
  readonly v311: string | undefined
  readonly v5: string | undefined
  readonly statement: string
  readonly check: (context: CheckContext) => Promise<void>
}

const expect = (isTrue: boolean, seen: string): void => {
  if (!isTrue) throw new Violation(seen)
}

export const statements: readonly CheckedStatement[] = [
  {
    v311: 'MQTT-3.1.0-2',
    v5: 'MQTT-3.1.0-2',
    statement: 'a second CONNECT ends the connection',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      client.send(connectFrame({ version: client.version, clientId: name }))
      await client.expectClose()
    },
  },
  {
    v311: 'MQTT-3.1.0-1',
    v5: 'MQTT-3.1.0-1',
    statement: 'the first packet must be CONNECT',
    check: async ({ open }) => {
      const client = await open()
      client.send(pingreqFrame)
      await client.expectClose()
    },
  },
  {
    v311: 'MQTT-3.1.2-3',
    v5: 'MQTT-3.1.2-3',
    statement: 'the reserved connect flag must be 0',
    check: async ({ open, name }) => {
      const client = await open()
      client.send(connectFrame({ version: client.version, clientId: name, moreFlags: 1 }))
      await client.expectClose()
    },
  },
  {
    v311: 'MQTT-3.1.2-2',
    v5: 'MQTT-3.1.2-2',
    statement: 'an unknown protocol level is refused and the connection ends',
    check: async ({ open, name }) => {
      const client = await open()
      client.send(connectFrame({ version: 4, clientId: name, protocolLevel: 63 }))
      await client.expectClose()
    },
  },
  {
    v311: 'MQTT-3.2.2-1',
    v5: 'MQTT-3.2.2-2',
    statement: 'CONNACK to a clean session has Session Present 0',
    check: async ({ open, name }) => {
      const client = await open()
      const connack = await client.connect({ clientId: name })
      expect(connack[0] === 0 && connack[1] === 0, `CONNACK ${connack.toString('hex')}`)
      client.disconnect()
    },
  },
  {
    v311: 'MQTT-3.2.2-2',
    v5: 'MQTT-3.2.2-3',
    statement: 'CONNACK to a client with a stored session has Session Present 1',
    check: async ({ connectClient, open, name }) => {
      const first = await connectClient(name, true)
      await first.subscribe(`${name}/kept`, 1)
      first.disconnect()
      const again = await open()
      const connack = await again.connect(createPersistentConnect(again, name))
      expect((connack[0] ?? 0) === 1, `CONNACK ${connack.toString('hex')}`)
      again.disconnect()
    },
  },
  {
    v311: 'MQTT-3.1.3-8',
    v5: undefined,
    statement: 'an empty client ID without clean session is refused with return code 2',
    check: async ({ open }) => {
      const client = await open()
      const connack = await client.connect({ clientId: '', cleanStart: false })
      expect(connack[1] === 2, `CONNACK ${connack.toString('hex')}`)
      await client.expectClose()
    },
  },
  {
    v311: undefined,
    v5: 'MQTT-3.2.2-16',
    statement: 'a client with an empty client ID receives its assigned client ID',
    check: async ({ open }) => {
      const client = await open()
      const connack = await client.connect({ clientId: '' })
      expect(connack[1] === 0, `CONNACK ${connack.toString('hex')}`)
      expect(connack.subarray(2).includes(0x12), 'CONNACK has no Assigned Client Identifier')
      client.disconnect()
    },
  },
  {
    v311: 'MQTT-3.1.4-2',
    v5: 'MQTT-3.1.4-3',
    statement: 'a connection with the client ID of another one closes the older one',
    check: async ({ connectClient, name }) => {
      const older = await connectClient(name)
      const newer = await connectClient(name)
      await older.expectClose()
      await newer.expectNothing()
      newer.disconnect()
    },
  },
  {
    v311: 'MQTT-3.1.2-8',
    v5: 'MQTT-3.1.2-8',
    statement: 'the will is published when the connection ends without DISCONNECT',
    check: async ({ connectClient, open, name }) => {
      const watcher = await connectClient(`${name}-w`)
      await watcher.subscribe(`${name}/will`)
      const client = await open()
      await client.connect({ clientId: name, will: { topic: `${name}/will`, payload: 'gone' } })
      client.destroy()
      const message = await watcher.expectMessage()
      expect(message.payload.toString() === 'gone', `payload ${message.payload.toString('hex')}`)
      watcher.disconnect()
    },
  },
  {
    v311: 'MQTT-3.14.4-3',
    v5: 'MQTT-3.14.4-3',
    statement: 'DISCONNECT discards the will',
    check: async ({ connectClient, open, name }) => {
      const watcher = await connectClient(`${name}-w`)
      await watcher.subscribe(`${name}/#`)
      const client = await open()
      await client.connect({ clientId: name, will: { topic: `${name}/will`, payload: 'gone' } })
      client.disconnect()
      // The broker must read the DISCONNECT before the next connection with the same client ID: otherwise a takeover would publish
      // the will.
      await client.expectClose()
      const last = await connectClient(name)
      last.send(publishFrame({ version: last.version, topic: `${name}/end`, payload: 'end' }))
      const message = await watcher.expectMessage()
      expect(message.topic === `${name}/end`, `a message to ${message.topic}`)
      last.disconnect()
      watcher.disconnect()
    },
  },
  {
    v311: 'MQTT-3.12.4-1',
    v5: 'MQTT-3.12.4-1',
    statement: 'the response to PINGREQ is PINGRESP',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      await client.expectNothing()
      client.disconnect()
    },
  },
  {
    v311: 'MQTT-3.8.4-2',
    v5: 'MQTT-3.8.4-2',
    statement: 'SUBACK has the packet identifier of its SUBSCRIBE and a code for each filter',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      const filters = [0, 1, 2].map((qos) => [`${name}/${qos}`, qos] as const)
      client.send(subscribeFrame(client.version, filters, 4_711))
      const { body } = await client.expect(packetTypes.suback)
      expect(body.readUInt16BE(0) === 4_711, `packet identifier ${body.readUInt16BE(0)}`)
      expect(
        body.subarray(-3).every((code, at) => code <= at),
        `codes ${body.subarray(-3).toString('hex')}`,
      )
      client.disconnect()
    },
  },
  {
    v311: 'MQTT-3.8.1-1',
    v5: 'MQTT-3.8.1-1',
    statement: 'SUBSCRIBE with wrong flags ends the connection',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      const right = subscribeFrame(client.version, [[name, 0]])
      right[0] = 0x80
      client.send(right)
      await client.expectClose()
    },
  },
  {
    v311: 'MQTT-3.8.3-3',
    v5: 'MQTT-3.8.3-2',
    statement: 'SUBSCRIBE without a filter ends the connection',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      client.send(subscribeFrame(client.version, []))
      await client.expectClose()
    },
  },
  {
    v311: 'MQTT-3.10.4-5',
    v5: 'MQTT-3.10.4-5',
    statement: 'UNSUBACK is sent even if there was no subscription',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      client.send(unsubscribeFrame(client.version, `${name}/none`, 77))
      const { body } = await client.expect(packetTypes.unsuback)
      expect(body.readUInt16BE(0) === 77, `packet identifier ${body.readUInt16BE(0)}`)
      client.disconnect()
    },
  },
  {
    v311: 'MQTT-3.10.4-2',
    v5: 'MQTT-3.10.4-2',
    statement: 'after UNSUBSCRIBE no new messages are sent for the filter',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      await client.subscribe(`${name}/a`)
      client.send(unsubscribeFrame(client.version, `${name}/a`))
      await client.expect(packetTypes.unsuback)
      client.send(publishFrame({ version: client.version, topic: `${name}/a`, payload: 'x' }))
      await client.expectNothing()
      client.disconnect()
    },
  },
  {
    v311: 'MQTT-3.3.4-1',
    v5: 'MQTT-3.3.4-1',
    statement: 'a message at QoS 1 is delivered to a subscriber at QoS 1 and acknowledged with PUBACK',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      await client.subscribe(`${name}/one`, 1)
      client.send(publishFrame({ version: client.version, topic: `${name}/one`, payload: 'x', qos: 1, packetId: 9 }))
      await expectPublishAndAck(client, packetTypes.puback, 9)
      client.disconnect()
    },
  },
  {
    v311: 'MQTT-4.3.3-2',
    v5: 'MQTT-4.3.3-10',
    statement: 'QoS 2 is received with PUBREC and PUBCOMP, and a repeated PUBLISH is not delivered again',
    check: async ({ connectClient, name }) => {
      const watcher = await connectClient(`${name}-w`)
      await watcher.subscribe(`${name}/two`)
      const client = await connectClient(name)
      const fields = { version: client.version, topic: `${name}/two`, payload: 'x', qos: 2, packetId: 5 } as const
      client.send(publishFrame(fields))
      await client.expect(packetTypes.pubrec)
      client.send(publishFrame({ ...fields, dup: true }))
      await client.expect(packetTypes.pubrec)
      client.send(ackFrame(packetTypes.pubrel, 5))
      await client.expect(packetTypes.pubcomp)
      await watcher.expectMessage()
      await watcher.expectNothing()
      client.disconnect()
      watcher.disconnect()
    },
  },
  {
    v311: 'MQTT-3.3.1-4',
    v5: 'MQTT-3.3.1-4',
    statement: 'a PUBLISH with QoS 3 ends the connection',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      client.send(frame(0x36, text(name), uint16(1)))
      await client.expectClose()
    },
  },
  {
    v311: 'MQTT-3.3.2-2',
    v5: 'MQTT-3.3.2-2',
    statement: 'a PUBLISH to a topic with wildcards ends the connection',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      client.send(publishFrame({ version: client.version, topic: `${name}/#`, payload: 'x' }))
      await client.expectClose()
    },
  },
  {
    v311: 'MQTT-1.5.3-2',
    v5: 'MQTT-1.5.4-2',
    statement: 'U+0000 in a topic ends the connection',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      client.send(publishFrame({ version: client.version, topic: `${name}\0`, payload: 'x' }))
      await client.expectClose()
    },
  },
  {
    v311: 'MQTT-1.5.3-1',
    v5: 'MQTT-1.5.4-1',
    statement: 'a topic that is not UTF-8 ends the connection',
    check: async ({ connectClient }) => {
      const client = await connectClient('')
      const section = client.version === 5 ? Buffer.from([0]) : Buffer.alloc(0)
      client.send(frame(0x30, text(Buffer.from([0x61, 0xed, 0xa0, 0x80])), section))
      await client.expectClose()
    },
  },
  {
    v311: 'MQTT-3.3.1-6',
    v5: 'MQTT-3.3.1-9',
    statement: 'a new subscriber gets the retained message, with the retain flag',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      await retain(client, toRetainedTopic(name), 'kept')
      await client.subscribe(toRetainedTopic(name))
      const { retain: isRetained, payload } = await client.expectMessage()
      expect(isRetained && payload.toString() === 'kept', `retain ${isRetained}, payload ${payload.toString()}`)
      client.disconnect()
      await retain(await connectClient(name), toRetainedTopic(name), '')
    },
  },
  {
    v311: 'MQTT-3.3.1-10',
    v5: 'MQTT-3.3.1-6',
    statement: 'an empty retained message removes the retained message of its topic',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      await retain(client, toRetainedTopic(name), 'kept')
      await retain(client, toRetainedTopic(name), '')
      await client.subscribe(toRetainedTopic(name))
      await client.expectNothing()
      client.disconnect()
    },
  },
  {
    v311: 'MQTT-4.7.2-1',
    v5: 'MQTT-4.7.2-1',
    statement: 'a filter that begins with a wildcard does not match topics that begin with $',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      await client.subscribe('+/uptime')
      await client.subscribe('+/broker/uptime')
      await client.expectNothing()
      client.disconnect()
    },
  },
  {
    v311: 'MQTT-3.1.2-5',
    v5: 'MQTT-4.5.0-1',
    statement: 'a message at QoS 1 is stored for a disconnected client, and delivered when it reconnects',
    check: async ({ connectClient, open, name }) => {
      const subscriber = await connectClient(name, true)
      await subscriber.subscribe(`${name}/later`, 1)
      subscriber.disconnect()
      const client = await connectClient(`${name}-p`)
      client.send(publishFrame({ version: client.version, topic: `${name}/later`, payload: 'x', qos: 1, packetId: 3 }))
      await client.expect(packetTypes.puback)
      const again = await open()
      await again.connect(createPersistentConnect(again, name))
      const { qos, packetId } = await again.expectMessage()
      expect(qos === 1, `QoS ${qos}`)
      again.send(ackFrame(packetTypes.puback, packetId))
      again.disconnect()
      client.disconnect()
    },
  },
  {
    v311: 'MQTT-4.6.0-6',
    v5: 'MQTT-4.6.0-6',
    statement: 'messages of one publisher to one topic arrive in their order',
    check: async ({ connectClient, name }) => {
      const watcher = await connectClient(`${name}-w`)
      await watcher.subscribe(`${name}/o`)
      const client = await connectClient(name)
      const sent = Array.from({ length: 50 }, (_, at) => String(at))
      client.send(...sent.map((payload) => publishFrame({ version: client.version, topic: `${name}/o`, payload })))
      for (const payload of sent) {
        const found = (await watcher.expectMessage()).payload.toString()
        expect(found === payload, `${found} instead of ${payload}`)
      }
      client.disconnect()
      watcher.disconnect()
    },
  },
  {
    v311: undefined,
    v5: 'MQTT-3.8.3-3',
    statement: 'with No Local a client does not get its own messages',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      await client.subscribe(`${name}/own`, 4)
      client.send(publishFrame({ version: 5, topic: `${name}/own`, payload: 'x' }))
      await client.expectNothing()
      client.disconnect()
    },
  },
  {
    v311: undefined,
    v5: 'MQTT-3.3.2-18',
    statement: 'user properties are forwarded in their order',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      await client.subscribe(`${name}/p`)
      const sent = Buffer.concat([createPair('b', '1'), createPair('a', '2'), createPair('b', '3')])
      client.send(publishFrame({ version: 5, topic: `${name}/p`, payload: 'x', properties: [sent] }))
      const { properties } = await client.expectMessage()
      expect(properties.includes(sent), `properties ${properties.toString('hex')}`)
      client.disconnect()
    },
  },
  {
    v311: undefined,
    v5: 'MQTT-3.3.2-8',
    statement: 'topic alias 0 ends the connection',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      const alias = Buffer.from([0x23, 0, 0])
      client.send(publishFrame({ version: 5, topic: name, payload: 'x', properties: [alias] }))
      await client.expectClose()
    },
  },
  {
    v311: undefined,
    v5: 'MQTT-3.3.4-3',
    statement: 'a message has the subscription identifier of the subscription that it is for',
    check: async ({ connectClient, name }) => {
      const client = await connectClient(name)
      client.send(frame(0x82, uint16(1), Buffer.from([2, 0x0b, 7]), text(`${name}/i`), Buffer.from([0])))
      await client.expect(packetTypes.suback)
      client.send(publishFrame({ version: 5, topic: `${name}/i`, payload: 'x' }))
      const { properties } = await client.expectMessage()
      expect(properties.includes(Buffer.from([0x0b, 7])), `properties ${properties.toString('hex')}`)
      client.disconnect()
    },
  },
]

const createPair = (key: string, value: string): Buffer => Buffer.concat([Buffer.from([0x26]), text(key), text(value)])

/** Returns the CONNECT of a persistent session. In 5.0 it needs a session expiry interval. */
export function createPersistentConnect({ version }: CheckedClient, clientId: string) {
  const properties = version === 5 ? [Buffer.from([0x11, 0, 0, 0, 60])] : []
  return { clientId, cleanStart: false, properties }
}

/** Topic of the retained message of a check. */
export function toRetainedTopic(name: string): string {
  return `${name}/r`
}

export async function retain(client: CheckedClient, topic: string, payload: string): Promise<void> {
  client.send(publishFrame({ version: client.version, topic, payload, qos: 1, packetId: 1, retain: true }))
  await client.expect(packetTypes.puback)
}

/** Waits for the client's own message at QoS 1 and for the acknowledgement of its PUBLISH, in either order. */
async function expectPublishAndAck(client: CheckedClient, ackType: number, packetId: number): Promise<void> {
  const frames = [await client.next(), await client.next()]
  const ack = frames.find((one) => one?.type === ackType)
  const message = frames.find((one) => one?.type === packetTypes.publish)
  expect(ack !== undefined && ack.body.readUInt16BE(0) === packetId, 'no PUBACK with its packet identifier')
  expect(message !== undefined && ((message.flags >> 1) & 3) === 1, 'no message at QoS 1')
}
