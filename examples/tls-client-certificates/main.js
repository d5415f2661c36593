// A client with a certificate connects; one without is refused.

import { readFileSync } from 'node:fs'
import mqtt from 'mqtt'

const url = process.env.MQTTS_URL ?? 'mqtts://127.0.0.1:8883'
const folder = process.env.CERTIFICATES ?? 'certificates'
const ca = readFileSync(`${folder}/ca.pem`)
const cert = readFileSync(`${folder}/device-7.pem`)
const key = readFileSync(`${folder}/device-7.key`)

const device = await mqtt.connectAsync(url, { clientId: 'device-7', ca, cert, key })
await device.publishAsync('devices/device-7/state', 'running', { qos: 1 })
console.log('device-7 connected and published')
await device.endAsync()

// TLS 1.3 tells a client after its handshake that its certificate is missing: the connection closes.
const withoutCertificate = mqtt.connect(url, { ca, reconnectPeriod: 0 })
withoutCertificate.on('error', () => {})
withoutCertificate.on('connect', () => {
  throw new Error('a client without a certificate got in')
})
withoutCertificate.on('close', () => console.log('a client without a certificate was refused'))
