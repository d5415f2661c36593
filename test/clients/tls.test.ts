// Debian's mosquitto clients over TLS: certificates, certificates of their own, and pre-shared keys.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { type Broker, portOf, runProgram, startBroker, temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority } from '../transports/certificates.ts'

const authority = new Authority('The test authority')
const server = authority.issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
const device = authority.issue('device-7')
const unknownAuthority = new Authority('Another authority').issue('device-7')
const key = '00112233445566778899aabbccddeeff'

interface Stage {
  readonly broker: Broker
  /** Runs mosquitto_pub with these words; gives its exit code. */
  readonly publishes: (words: readonly string[]) => Promise<number | null>
  readonly path: (file: string) => string
}

async function stageWith(
  t: TestContext,
  settings: (path: (file: string) => string) => readonly string[],
): Promise<Stage> {
  const folder = await temporaryFolder(t)
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
  const set = ['bind="127.0.0.1:0"', ...settings(path)].map((line) => `listeners.ssl.${line}`)
  const broker = await startBroker(t, { set })
  const publishes = (words: readonly string[]): Promise<number | null> => {
    const all = ['-h', '127.0.0.1', '-p', `${portOf(broker, 'ssl')}`, '-q', '1', '-t', 'a', '-m', 'b', ...words]
    return runProgram(t, 'mosquitto_pub', all).ended
  }
  return { broker, publishes, path }
}

const verified = (authorities: string): readonly string[] => [
  `cacertfile="${authorities}"`,
  'verify_peer=true',
  'fail_if_no_peer_cert=true',
]

for (const version of ['tlsv1.2', 'tlsv1.3']) {
  test(`mosquitto_pub with ${version}: with a certificate of its own, without, and with one of an unknown authority`, async (t) => {
    const { publishes, path } = await stageWith(t, (path) => [
      `certfile="${path('cert.pem')}"`,
      `keyfile="${path('key.pem')}"`,
      ...verified(path('ca.pem')),
    ])
    const trusting = ['--tls-version', version, '--cafile', path('ca.pem')]
    assert.equal(await publishes([...trusting, '--cert', path('device.pem'), '--key', path('device-key.pem')]), 0)
    assert.notEqual(await publishes(trusting), 0)
    const strange = ['--cert', path('stranger.pem'), '--key', path('stranger-key.pem')]
    assert.notEqual(await publishes([...trusting, ...strange]), 0)
  })
}

for (const certificate of ['without a certificate', 'beside a certificate'] as const) {
  test(`mosquitto_pub with a pre-shared key, at a listener ${certificate}`, async (t) => {
    const { publishes } = await stageWith(t, (path) => [
      `psk_file="${path('psk.txt')}"`,
      ...(certificate === 'beside a certificate'
        ? [`certfile="${path('cert.pem')}"`, `keyfile="${path('key.pem')}"`, ...verified(path('ca.pem'))]
        : []),
    ])
    assert.equal(await publishes(['--psk-identity', 'plant-7', '--psk', key]), 0)
    assert.notEqual(await publishes(['--psk-identity', 'plant-7', '--psk', key.replace('00', '01')]), 0)
    assert.notEqual(await publishes(['--psk-identity', 'plant-8', '--psk', key]), 0)
  })
}
