// A device of LwM2M over a real socket, and an administrator that sends commands to devices.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import mqtt from 'mqtt'
import { CoapDevice, type CoapMessage } from '../gateways/coap-device.ts'
import type { Scope } from './godwit-process.ts'

/** A message of a device, as JSON. */
interface Document {
  readonly reqID?: number
  readonly data: { readonly objectList?: unknown; readonly content: readonly { readonly value: unknown }[] }
}

interface RealDevice {
  readonly device: CoapDevice
  readonly next: () => Promise<CoapMessage>
}

export async function deviceAt(t: Scope, gatewayPort: number): Promise<RealDevice> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  const arrived: Buffer[] = []
  const waiting: (() => void)[] = []
  socket.on('message', (bytes) => {
    arrived.push(bytes)
    waiting.shift()?.()
  })
  const device = new CoapDevice(
    (bytes) => socket.send(bytes, gatewayPort, '127.0.0.1'),
    () => arrived.splice(0, 1),
  )
  /** Message IDs of confirmable messages. On a slow machine, the gateway repeats one before it has the response (RFC 7252, 4.2). */
  const known = new Set<number>()
  const next = async (): Promise<CoapMessage> => {
    for (;;) {
      if (arrived.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
      const message = device.takeLast() ?? assert.fail('no datagram was received')
      if (message.type === 'con' && known.has(message.messageId)) continue
      if (message.type === 'con') known.add(message.messageId)
      return message
    }
  }
  return { device, next }
}

export async function connectAdministrator(
  t: Scope,
  port: number,
): Promise<{ readonly client: mqtt.MqttClient; readonly next: () => Promise<readonly [string, Document]> }> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`)
  t.after(() => client.end(true))
  const receivedMessages: (readonly [string, Document])[] = []
  const waiting: ((message: readonly [string, Document]) => void)[] = []
  client.on('message', (topic, payload) => {
    const message = [topic, JSON.parse(payload.toString()) as Document] as const
    const first = waiting.shift()
    if (first === undefined) receivedMessages.push(message)
    else first(message)
  })
  await client.subscribeAsync('lwm2m/+/up/#', { qos: 1 })
  const next = (): Promise<readonly [string, Document]> => {
    const first = receivedMessages.shift()
    return first === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(first)
  }
  return { client, next }
}
