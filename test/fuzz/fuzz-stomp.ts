// Mutated frames of STOMP in memory: no input ends the process, and nothing is written after the end of a connection
// [F8 of the gateway requirements].

import assert from 'node:assert/strict'
import { StompGateway } from '../../src/gateways/index.ts'
import { GatewayStage } from '../gateways/gateway-stage.ts'
import { mutate, randomOf, sn } from './fuzz-gateway.ts'

const stompSeeds = [
  'CONNECT\naccept-version:1.0,1.2\nhost:h\nheart-beat:1000,1000\n\n\0',
  'SEND\ndestination:a/b\nreceipt:1\ncontent-length:3\n\nx\0y\0\n',
  'SUBSCRIBE\nid:1\ndestination:a/#\nack:client\n\n\0',
  'BEGIN\ntransaction:t\n\n\0SEND\ndestination:a\ntransaction:t\nfoo:\\c\\n\n\n1\0COMMIT\ntransaction:t\n\n\0',
  'ACK\nid:1\n\n\0NACK\nid:2\ntransaction:t\n\n\0ABORT\ntransaction:t\n\n\0',
  'UNSUBSCRIBE\nid:1\n\n\0DISCONNECT\nreceipt:9\n\n\0',
]

const framesPerConnection = 6
const connectionsBetweenLooks = 20_000

/** `count`: number of frames; every other one is mutated. */
export function fuzzStomp({
  count,
  seed,
  report,
}: {
  readonly count: number
  readonly seed: number
  readonly report?: (done: number) => void
}): { readonly errors: number; readonly receipts: number } {
  const stage = new GatewayStage()
  const limits = { maxHeaders: 10, maxHeaderBytes: 1_024, maxBodyBytes: 65_536, idleTimeoutMs: 30_000 }
  const gateway = new StompGateway({ ...limits, override: sn.override }, stage.dependencies)
  const random = randomOf(seed)
  let errors = 0
  let receipts = 0
  for (let run = 0; run < count / framesPerConnection; run++) {
    if (run % connectionsBetweenLooks === 0) report?.(run)
    let isEnded = false
    const write = (bytes: Buffer): void => {
      assert.ok(!isEnded, 'nothing is written after the end')
      if (bytes.toString().startsWith('ERROR')) errors++
      if (bytes.toString().startsWith('RECEIPT')) receipts++
    }
    const peer = { address: '192.0.2.7', port: 4_000 }
    const end = (): void => void (isEnded = true)
    const device = gateway.accept({ peer, write, unsentBytes: 0, pause: () => {}, resume: () => {}, end })
    device.handleBytes(Buffer.from(stompSeeds[0] ?? ''))
    stage.connections.splice(0, stage.connections.length - 1)
    stage.acceptAll()
    for (let frame = 0; frame < framesPerConnection; frame++) {
      const seed = Buffer.from(stompSeeds[random(stompSeeds.length)] ?? '')
      const bytes = frame % 2 === 0 ? seed : mutate(seed, random)
      const cut = random(bytes.length + 1)
      device.handleBytes(bytes.subarray(0, cut))
      device.handleBytes(bytes.subarray(cut))
      stage.acceptAll()
      for (const { packetId, qos } of stage.connections.at(-1)?.published.splice(0) ?? []) {
        const acknowledgement = { packetId, reasonCode: 0, properties: undefined } as const
        if (qos === 1) stage.connections.at(-1)?.callbacks.handlePacket({ type: 'puback', ...acknowledgement })
      }
      stage.nowMs += random(100)
      gateway.tick()
    }
    device.handleClosed()
    assert.equal(gateway.clients, 0)
  }
  return { errors, receipts }
}
