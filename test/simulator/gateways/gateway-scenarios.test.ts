// Devices over a network that loses, repeats and reorders datagrams. This command prints a failed scenario line by line:
// `npm run simulate:gateways -- --seed N --protocol NAME`.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LossyNetwork } from './lossy-network.ts'
import { gatewayScenarios } from './gateway-scenarios.ts'
import { testLength } from '../../test-length.ts'

const seeds = testLength({ daily: 30, long: 250 })

describe('scenarios over a network that loses datagrams violate no rule', () => {
  for (const [protocol, run] of Object.entries(gatewayScenarios)) {
    test(`${protocol}, seeds 1 to ${seeds}`, () => {
      const faults: string[] = []
      let [delivered, lost] = [0, 0]
      for (let seed = 1; seed <= seeds; seed++) {
        const outcome = run(seed)
        for (const fault of outcome.faults) faults.push(`seed ${seed}: ${fault}`)
        delivered += outcome.delivered
        lost += outcome.lost
      }
      assert.deepEqual(faults, [])
      assert.ok(delivered > seeds * 10 && lost > seeds * 3, `${delivered} messages and ${lost} losses prove little`)
    })
  }
})

describe('a scenario of a gateway', () => {
  for (const [protocol, run] of Object.entries(gatewayScenarios)) {
    test(`is the same in each run (${protocol})`, () => {
      const [once, again, another] = [7, 7, 8].map((seed) => run(seed, { isRecorded: true }).log.join('\n'))
      assert.equal(once, again)
      assert.notEqual(once, another)
    })
  }
})

const snPublish = 0x0c
const snPuback = 0x0d
const coapAck = 2

/** Defects of a gateway, by protocol, that the oracles must find. */
const damages: Readonly<Record<keyof typeof gatewayScenarios, (network: LossyNetwork) => void>> = {
  // Acknowledges a QoS 1 message and discards it.
  mqttsn: (network) => {
    const pass = network.onGateway
    network.onGateway = (bytes, peer) => {
      if (bytes[1] !== snPublish || ((bytes[2] ?? 0) & 0x60) !== 0x20) return pass(bytes, peer)
      const puback = Buffer.concat([Buffer.of(7, snPuback), bytes.subarray(3, 7), Buffer.of(0)])
      network.sendToDevice(puback, peer)
    }
  },
  // Executes repeated requests again.
  coap: (network) => {
    const pass = network.onGateway
    let next = 0x8000
    network.onGateway = (bytes, peer) => {
      const again = Buffer.from(bytes)
      again.writeUInt16BE(next++, 2)
      pass(bytes, peer)
      if (((bytes[0] ?? 0) >> 4) % 4 === 0) pass(again, peer)
    }
  },
  // Ignores acknowledgements of devices.
  lwm2m: (network) => {
    const pass = network.onGateway
    network.onGateway = (bytes, peer) => {
      if (((bytes[0] ?? 0) >> 4) % 4 !== coapAck) pass(bytes, peer)
    }
  },
}

describe('the oracles', () => {
  for (const protocol of Object.keys(damages) as (keyof typeof damages)[]) {
    test(`detect a gateway with a defect (${protocol})`, () => {
      const found = [1, 2, 3, 4, 5].flatMap(
        (seed) => gatewayScenarios[protocol](seed, { damage: damages[protocol] }).faults,
      )
      assert.ok(found.length > 0)
    })
  }
})
