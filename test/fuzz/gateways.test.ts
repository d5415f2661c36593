// Mutated datagrams and frames, a short run: the long one is `npm run fuzz:gateways -- --count 2000000 --protocol mqttsn`.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StompGateway } from '../../src/gateways/index.ts'
import { GatewayStage } from '../gateways/gateway-stage.ts'
import { fuzzedProtocols, fuzzGateway, mutate, randomOf, sn } from './fuzz-gateway.ts'

const runs = Number(process.env['GODWIT_FUZZ_RUNS'] ?? 20_000)

describe('[F8] mutated datagrams', () => {
  for (const name of fuzzedProtocols) {
    test(`of ${name} end nothing, and no stranger gets more than three times what it sent`, () => {
      const { malformed, answered } = fuzzGateway(name, { count: runs, seed: 20_261_124 })
      assert.ok(malformed > 0 && answered > 0)
    })
  }
})

const stompSeeds = [
  'CONNECT\naccept-version:1.0,1.2\nhost:h\nheart-beat:1000,1000\n\n\0',
  'SEND\ndestination:a/b\nreceipt:1\ncontent-length:3\n\nx\0y\0\n',
  'SUBSCRIBE\nid:1\ndestination:a/#\nack:client\n\n\0',
  'BEGIN\ntransaction:t\n\n\0SEND\ndestination:a\ntransaction:t\nfoo:\\c\\n\n\n1\0COMMIT\ntransaction:t\n\n\0',
  'ACK\nid:1\n\n\0NACK\nid:2\ntransaction:t\n\n\0ABORT\ntransaction:t\n\n\0',
  'UNSUBSCRIBE\nid:1\n\n\0DISCONNECT\nreceipt:9\n\n\0',
]

test('mutated frames of stomp end nothing, whatever their chunks are', () => {
  const stage = new GatewayStage()
  const limits = { maxHeaders: 10, maxHeaderBytes: 1_024, maxBodyBytes: 65_536, idleTimeoutMs: 30_000 }
  const gateway = new StompGateway({ ...limits, override: sn.override }, stage.dependencies)
  const random = randomOf(20_261_124)
  let errors = 0
  let receipts = 0
  for (let run = 0; run < runs / 10; run++) {
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
    for (let frame = 0; frame < 6; frame++) {
      const seed = Buffer.from(stompSeeds[random(stompSeeds.length)] ?? '')
      const bytes = frame % 2 === 0 ? seed : mutate(seed, random)
      const cut = random(bytes.length + 1)
      device.handleBytes(bytes.subarray(0, cut))
      device.handleBytes(bytes.subarray(cut))
      stage.acceptAll()
      for (const { packetId, qos } of stage.connections.at(-1)?.published.splice(0) ?? []) {
        const answer = { packetId, reasonCode: 0, properties: undefined } as const
        if (qos === 1) stage.connections.at(-1)?.callbacks.handlePacket({ type: 'puback', ...answer })
      }
      stage.nowMs += random(100)
      gateway.tick()
    }
    device.handleClosed()
    assert.equal(gateway.clients, 0)
  }
  assert.ok(errors > runs / 100 && receipts > runs / 100, `${errors} errors, ${receipts} receipts`)
})
