// Debian's mosquitto clients over TLS: with server certificates, client certificates and pre-shared keys.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { portOf, runProgram, type Scope, shared, startBroker, temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority } from '../transports/certificates.ts'

const authority = new Authority('The test authority')
const server = authority.issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
const device = authority.issue('device-7')
const unknownAuthority = new Authority('Another authority').issue('device-7')
const key = '00112233445566778899aabbccddeeff'

/** One broker with three listeners: for certificates, for pre-shared keys, for both. */
const startShared = shared(async (scope) => {
  const folder = await temporaryFolder(scope)
  const path = (file: string): string => join(folder, file)
  const files = {
    'ca.pem': authority.certificate,
    'cert.pem': server.certificate,
    'key.pem': server.key,
    'device.pem': device.certificate,
    'device-key.pem': device.key,
    'stranger.pem': unknownAuthority.certificate,
    'stranger-key.pem': unknownAuthority.key,
    'psk.txt': `plant-7:${key}\n`,
  }
  for (const [file, content] of Object.entries(files)) await writeFile(path(file), content)
  const certificate = [
    `certfile="${path('cert.pem')}"`,
    `keyfile="${path('key.pem')}"`,
    `cacertfile="${path('ca.pem')}"`,
    'verify_peer=true',
    'fail_if_no_peer_cert=true',
  ]
  const preSharedKey = `psk_file="${path('psk.txt')}"`
  const listeners = { certified: certificate, keyed: [preSharedKey], both: [preSharedKey, ...certificate] }
  const set = Object.entries(listeners).flatMap(([name, settings]) =>
    ['bind="127.0.0.1:0"', ...settings].map((line) => `listeners.ssl.${name}.${line}`),
  )
  const broker = await startBroker(scope, { set })
  /** Runs mosquitto_pub with these arguments; returns its exit code. */
  const publishes = (t: Scope, listener: keyof typeof listeners, words: readonly string[]): Promise<number | null> => {
    const port = portOf(broker, 'ssl', listener)
    const all = ['-h', '127.0.0.1', '-p', `${port}`, '-q', '1', '-t', 'a', '-m', 'b', ...words]
    return runProgram(t, 'mosquitto_pub', all).ended
  }
  return { publishes, path }
})

for (const version of ['tlsv1.2', 'tlsv1.3']) {
  test(`mosquitto_pub with ${version} needs a client certificate of the configured authority`, async (t) => {
    const { publishes, path } = await startShared()
    const trusting = ['--tls-version', version, '--cafile', path('ca.pem')]
    assert.equal(
      await publishes(t, 'certified', [...trusting, '--cert', path('device.pem'), '--key', path('device-key.pem')]),
      0,
    )
    assert.notEqual(await publishes(t, 'certified', trusting), 0)
    const strange = ['--cert', path('stranger.pem'), '--key', path('stranger-key.pem')]
    assert.notEqual(await publishes(t, 'certified', [...trusting, ...strange]), 0)
  })
}

for (const [listener, certificate] of [
  ['keyed', 'without a certificate'],
  ['both', 'with a certificate'],
] as const) {
  test(`mosquitto_pub publishes with the correct pre-shared key only, on a listener ${certificate}`, async (t) => {
    const { publishes } = await startShared()
    assert.equal(await publishes(t, listener, ['--psk-identity', 'plant-7', '--psk', key]), 0)
    const wrong = key.replace('00', '01')
    assert.notEqual(await publishes(t, listener, ['--psk-identity', 'plant-7', '--psk', wrong]), 0)
    assert.notEqual(await publishes(t, listener, ['--psk-identity', 'plant-8', '--psk', key]), 0)
  })
}
