// Gateways over DTLS and TLS with the clients of libcoap and OpenSSL (F2, F4, F7).

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { runProgram, type Scope, startBroker, temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { Authority } from '../transports/certificates.ts'

const key = Buffer.from('sixteen-byte-key').toString('hex')

async function startSecure(t: Scope, gateway: string, more: readonly string[]) {
  const port = await reservePort(t)
  const socket = `gateway.${gateway}.listeners.dtls.default`
  const set = [`${socket}.bind=127.0.0.1:${port}`, `gateway.${gateway}.idle_timeout=10m`, 'node.shards=2']
  const broker = await startBrokerWithApi(t, { set: [...set, ...more.map((one) => `${socket}.${one}`)] })
  return { port, mqttPort: broker.port, broker }
}

for (const library of ['openssl', 'gnutls']) {
  test(`[F4, F7] libcoap's client with ${library} publishes over DTLS with a pre-shared key`, async (t) => {
    const { port, mqttPort } = await startSecure(t, 'coap', [`dtls_options.psk=["sensor-1:${key}"]`])
    const subscriber = await connectAsync(`mqtt://127.0.0.1:${mqttPort}`)
    t.after(() => subscriber.end(true))
    await subscriber.subscribeAsync('plant/#', { qos: 1 })
    const received = new Promise<string>((resolve) =>
      subscriber.once('message', (topic, payload) => resolve(`${topic} ${payload.toString()}`)),
    )
    const url = `coaps://127.0.0.1:${port}/ps/plant/1?c=device&u=one&p=two`
    const words = ['-v', '6', '-u', 'sensor-1', '-k', 'sixteen-byte-key', '-m', 'put', '-e', '21.5', url]
    await runProgram(t, `coap-client-${library}`, words).until(/2\.04/)
    assert.equal(await received, 'plant/1 21.5')
  })
}

/** The widest first. */
const deviceSubject = [
  ['O', 'Plant'],
  ['CN', 'device-7'],
] as const

/** libcoap's client with a certificate, and the broker that it knows by another of the same authority. */
async function startCertified(t: Scope, identity: readonly string[] = []) {
  const authority = new Authority('Plant')
  const folder = await temporaryFolder(t)
  const names = {
    ca: 'ca.pem',
    cert: 'cert.pem',
    key: 'key.pem',
    deviceCert: 'device-cert.pem',
    deviceKey: 'device-key.pem',
  }
  const own = authority.issue('gateway', { hostNames: ['127.0.0.1'] })
  const device = authority.issue('device-7', { subject: deviceSubject })
  const files = Object.fromEntries(
    Object.entries(names).map(([name, file]) => [name, join(folder, file)]),
  ) as typeof names
  await writeFile(files.ca, authority.certificate)
  await writeFile(files.cert, own.certificate)
  await writeFile(files.key, own.key)
  await writeFile(files.deviceCert, device.certificate)
  await writeFile(files.deviceKey, device.key)
  const options = [
    `certfile=${files.cert}`,
    `keyfile=${files.key}`,
    `cacertfile=${files.ca}`,
    'verify=verify_peer',
    'fail_if_no_peer_cert=true',
  ]
  const { port, mqttPort, broker } = await startSecure(t, 'coap', [
    ...identity,
    ...options.map((option) => `dtls_options.${option}`),
  ])
  const words = ['-C', files.ca, '-c', files.deviceCert, '-j', files.deviceKey, '-v', '6']
  return { folder, words, url: `coaps://127.0.0.1:${port}/ps`, mqttPort, broker }
}

/**
 * The datagrams that the client loses, counted from its ClientHello. GnuTLS in libcoap 4.3 does not send its second flight
 * (datagrams 3 to 7) again in time when one of it is lost, and ends the attempt after 5 s, whatever the server repeats.
 */
const lost = { openssl: '4,9', gnutls: '1,9' }

for (const library of ['openssl', 'gnutls'] as const) {
  test(`[F4, F7] libcoap's client with ${library} and certificates: blocks both ways, Observe, lost packets`, async (t) => {
    const { folder, words, url, mqttPort } = await startCertified(t)
    const publisher = await connectAsync(`mqtt://127.0.0.1:${mqttPort}`)
    t.after(() => publisher.end(true))
    const body = randomBytes(3_000).toString('hex')
    await writeFile(join(folder, 'body'), body)
    const stored = [
      '-b',
      '512',
      '-l',
      lost[library],
      '-m',
      'put',
      '-f',
      join(folder, 'body'),
      `${url}/big?c=writer&retain=1`,
    ]
    await runProgram(t, `coap-client-${library}`, [...words, ...stored]).ended
    const back = ['-l', lost[library], '-m', 'get', '-o', join(folder, 'back'), `${url}/big?c=reader`]
    await runProgram(t, `coap-client-${library}`, [...words, ...back]).ended
    assert.equal(await readFile(join(folder, 'back'), 'utf8'), body)
    await publisher.publishAsync('watched', 'retained;', { qos: 1, retain: true })
    const watched = ['-s', '60', '-m', 'get', `${url}/watched?c=observer`]
    const observer = runProgram(t, `coap-client-${library}`, [...words, ...watched])
    await observer.until(/retained;/)
    await publisher.publishAsync('watched', 'live;', { qos: 1 })
    await observer.until(/live;/)
  })
}

for (const [field, username] of [
  ['cn', 'device-7'],
  ['dn', 'CN=device-7,O=Plant'],
] as const) {
  test(`[F1] over DTLS, ${field} of the certificate is the user name and the client ID, whatever the request says`, async (t) => {
    const identity = [`peer_cert_as_username=${field}`, 'peer_cert_as_clientid=cn']
    const { words, url, broker } = await startCertified(t, identity)
    const put = ['-m', 'put', '-e', '1', `${url}/plant/1?c=said&u=somebody&p=else`]
    await runProgram(t, 'coap-client-openssl', [...words, ...put]).until(/2\.04/)
    const { json } = await broker.ask('/api/v4/clients?proto_name=CoAP')
    const clients = json.data.map((client: { clientid: string; username: string }) => [
      client.clientid,
      client.username,
    ])
    assert.deepEqual(clients, [['device-7', username]])
  })
}

test('[F6] STOMP over TLS', async (t) => {
  const folder = await temporaryFolder(t)
  const own = new Authority('Plant').issue('gateway')
  await writeFile(join(folder, 'cert.pem'), own.certificate)
  await writeFile(join(folder, 'key.pem'), own.key)
  const port = await reservePort(t)
  const socket = 'gateway.stomp.listeners.ssl.default'
  const files = [`${socket}.certfile=${join(folder, 'cert.pem')}`, `${socket}.keyfile=${join(folder, 'key.pem')}`]
  await startBroker(t, { set: [`${socket}.bind=127.0.0.1:${port}`, ...files] })
  const client = runProgram(t, 'openssl', ['s_client', '-quiet', '-connect', `127.0.0.1:${port}`])
  client.child.stdin?.write('CONNECT\naccept-version:1.2\nhost:broker\n\n\0')
  await client.until(/CONNECTED\n[^]*version:1.2/)
})
