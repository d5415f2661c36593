// Exchanges of mqtt-sn-tools and of Eclipse Paho with the gateway, recorded with a relay (`recorded/`) and replayed. Of Paho: its sample programs,
// and a client that uses its packet library with wills, QoS 2 in both directions, REGISTER by the gateway, sleep and SEARCHGW. Debian and npm
// have none of them.

import { test } from 'node:test'
import { shareConfigurableBroker } from '../management/api.ts'
import { playRecordings } from './recorded-exchanges.ts'
import { longTest } from '../test-length.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

/** Messages of the client that uses the library. The deleted will is not published. */
const published = ['levels/tank full', 'wills/lost gone']

test('[F3] the packet library of Paho: the gateway sends the recorded responses', async (t) => {
  await playRecordings(t, 'paho-mqtt-sn', published, { configuredBroker })
})

interface DeviceStatus {
  readonly acceleration: readonly [x: string, y: string, z: string]
  readonly temperature: string
  readonly joystick: string
  readonly potentiometers: readonly [string, string]
}

const statusMessage = ({
  acceleration: [x, y, z],
  temperature,
  joystick,
  potentiometers: [first, second],
}: DeviceStatus): string =>
  `iot-2/evt/status/fmt/json {"d":{"myName":"IoT mbed","accelX":${x},"accelY":${y},"accelZ":${z},"temp":${temperature},` +
  `"joystick":"SN-${joystick}","potentiometer1":${first},"potentiometer2":${second}}}`

/** Messages of the sample programs. The seed of their random generator cannot be set. */
const ofSamples = [
  'tt mypayload',
  'tt mypayload',
  'tt mypayload',
  statusMessage({
    acceleration: ['12.0000', '10.0000', '6.0000'],
    temperature: '23.0000',
    joystick: 'CENTRE',
    potentiometers: ['180.0000', '90.0000'],
  }),
  statusMessage({
    acceleration: ['18.0000', '0.0000', '14.0000'],
    temperature: '20.0000',
    joystick: 'RIGHT',
    potentiometers: ['270.0000', '60.0000'],
  }),
  'a long topic name mypayload',
]

// Daily: the packet library of Paho, above.
longTest('[F3] the sample programs of Paho: the gateway sends the recorded responses', async (t) => {
  await playRecordings(t, 'paho-samples', ofSamples, { configuredBroker })
})

/** Messages of the client of MQTT-SN 2.0. */
const ofVersion2 = ['two/one first', 'sensors/temperature second', 'two/kept kept', 'two/will gone']

test('[2.0] the packet library of Paho for MQTT-SN 2.0: the gateway sends the recorded responses', async (t) => {
  await playRecordings(t, 'paho-mqtt-sn-2', ofVersion2, {
    configuredBroker,
    settings: ['gateway.mqttsn.protocol_2=true'],
  })
})

/** Messages of the tools. */
const ofTools = [
  'sensors/1 21.5',
  'sensors/1 22.5',
  'ab short',
  'sensors/temperature predefined',
  'sensors/humidity without-session',
  'cd short-without-session',
  'sensors/kept kept',
  `sensors/big ${'x'.repeat(248)}`,
  'sensors/empty ',
  'sensors/fe forwarded',
  'sensors/s asleep',
]

test('[F3] mqtt-sn-tools f2ecdaa: the gateway sends the recorded responses', async (t) => {
  await playRecordings(t, 'mqtt-sn-tools', ofTools, { configuredBroker })
})
