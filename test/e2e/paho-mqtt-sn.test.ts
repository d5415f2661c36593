// Exchanges of a client whose packets are those of Eclipse Paho's library (`recorded/paho-mqtt-sn.txt`), played again: wills, QoS 2 in
// both directions, names that the gateway registers, and sleep. The library is in neither Debian nor npm.

import { test } from 'node:test'
import { playRecordings } from './recorded-exchanges.ts'

/** Messages of the clients. The will that was dropped is none of them. */
const published = ['levels/tank full', 'wills/lost gone']

test('[F3] packets of Paho: the gateway answers as it did to the client', async (t) => {
  await playRecordings(t, 'paho-mqtt-sn', published)
})
