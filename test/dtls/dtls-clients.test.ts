// DTLS with the clients of OpenSSL and GnuTLS, by F7 of the gateway requirements.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { cipherSuites } from '../../lib/dtls/cipher-suites.ts'
import { ClientTrust } from '../../lib/dtls/client-trust.ts'
import type { DtlsCredentials } from '../../lib/dtls/dtls-credentials.ts'
import { type Scope, temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority } from '../transports/certificates.ts'
import { certificateOf, identity, key, keyCredentials, startClient, startEcho } from './dtls-socket-stage.ts'

const hexKey = key.toString('hex')

function openssl(t: Scope, port: number, ...more: readonly string[]) {
  const words = ['s_client', '-dtls1_2', '-connect', `127.0.0.1:${port}`, ...more]
  return startClient(t, 'openssl', words)
}

for (const cipher of ['PSK-AES128-CCM8', 'PSK-AES128-CCM', 'PSK-AES128-GCM-SHA256']) {
  test(`[F7] OpenSSL's client connects with ${cipher}, and gets close_notify`, async (t) => {
    const server = await startEcho(t, keyCredentials)
    const words = ['-psk_identity', identity, '-psk', hexKey, '-cipher', `${cipher}:@SECLEVEL=0`]
    const client = openssl(t, server.port, ...words)
    client.child.stdin?.write('hello\n')
    await client.until(/echo hello/)
    await client.until(/Extended master secret: yes/)
    assert.equal(server.opened[0]?.suiteName, cipher)
    assert.deepEqual(server.opened[0]?.credentials, { certificate: undefined, pskIdentity: identity })
    client.child.stdin?.end()
    assert.equal(await client.ended, 0)
    assert.equal(server.closed.length, 1)
  })
}

test('[F7] with a small path MTU, OpenSSL fragments its messages, and reads fragments of the server', async (t) => {
  const authority = new Authority('Plant')
  const server = await startEcho(t, {
    ...keyCredentials,
    certificate: certificateOf(authority.issue('gateway')),
    clients: { trust: new ClientTrust(Buffer.from(authority.certificate)), isRequired: true },
  })
  const files = await certificateFiles(t, authority, 'device-7')
  const client = openssl(t, server.port, '-mtu', '300', ...files)
  client.child.stdin?.write('hello\n')
  await client.until(/echo hello/)
  assert.equal(server.opened[0]?.credentials.certificate?.commonName, 'device-7')
})

test('[F7] an unknown identity looks like a wrong key: neither gets a response', async (t) => {
  const server = await startEcho(t, keyCredentials, 300)
  const ciphers = ['-cipher', 'PSK-AES128-CCM8:@SECLEVEL=0', '-msg']
  const wrong = openssl(t, server.port, '-psk_identity', identity, '-psk', '00112233445566778899', ...ciphers)
  const unknown = openssl(t, server.port, '-psk_identity', 'sensor-2', '-psk', hexKey, ...ciphers)
  await server.untilRefused(2)
  const why = 'its key is wrong or its identity is unknown'
  assert.deepEqual(server.refused.slice(0, 2), [why, why])
  await Promise.all([wrong.stop(), unknown.stop()])
  assert.doesNotMatch(wrong.output + unknown.output, /<<< .*(Alert|Finished)/)
  assert.deepEqual(server.opened, [])
})

for (const priority of ['+AES-128-CCM-8', '+AES-128-CCM', '+AES-128-GCM']) {
  test(`[F7] GnuTLS' client comes in with a key and ${priority}`, async (t) => {
    const server = await startEcho(t, keyCredentials)
    const list = `NONE:+VERS-DTLS1.2:+PSK:${priority}:+AEAD:+SIGN-ALL:+COMP-NULL:+GROUP-ALL`
    const words = ['--udp', '-p', String(server.port), '127.0.0.1', '--pskusername', identity, '--pskkey', hexKey]
    const client = startClient(t, 'gnutls-cli', [...words, '--priority', list])
    await client.until(/Handshake was completed/)
    client.child.stdin?.write('hello\n')
    await client.until(/echo hello/)
    assert.equal(server.opened[0]?.credentials.pskIdentity, identity)
  })
}

async function certificateFiles(t: Scope, authority: Authority, name: string): Promise<string[]> {
  const folder = await temporaryFolder(t)
  const own = authority.issue(name)
  await writeFile(join(folder, 'cert.pem'), own.certificate)
  await writeFile(join(folder, 'key.pem'), own.key)
  await writeFile(join(folder, 'ca.pem'), authority.certificate)
  const names = ['-cert', 'cert.pem', '-key', 'key.pem', '-CAfile', 'ca.pem']
  return names.map((word) => (word.endsWith('.pem') ? join(folder, word) : word))
}

const certificateSuites = [
  ['ECDHE-ECDSA-AES128-GCM-SHA256', 'X25519'],
  ['ECDHE-ECDSA-AES128-CCM8', 'P-256'],
] as const
for (const [cipher, group] of certificateSuites) {
  test(`[F7] OpenSSL's client verifies our certificate and shows its own: ${cipher}, ${group}`, async (t) => {
    const authority = new Authority('Plant')
    const credentials: DtlsCredentials = {
      ...keyCredentials,
      certificate: certificateOf(authority.issue('gateway')),
      clients: { trust: new ClientTrust(Buffer.from(authority.certificate)), isRequired: true },
    }
    const server = await startEcho(t, credentials)
    const files = await certificateFiles(t, authority, 'device-7')
    // It offers the group of the server certificate, too: otherwise it would refuse it.
    const groups = group === 'P-256' ? group : `${group}:P-256`
    const words = ['-cipher', `${cipher}:@SECLEVEL=0`, '-groups', groups, '-verify_return_error', ...files]
    const client = openssl(t, server.port, ...words)
    client.child.stdin?.write('hello\n')
    await client.until(/echo hello/)
    await client.until(/Verify return code: 0/)
    assert.equal(server.opened[0]?.suiteName, cipher)
    assert.equal(server.opened[0]?.credentials.certificate?.commonName, 'device-7')
  })
}

test('[F7] client certificates: a missing required one and one of an unknown authority are refused', async (t) => {
  const authority = new Authority('Plant')
  const server = await startEcho(t, {
    suites: cipherSuites,
    certificate: certificateOf(authority.issue('gateway')),
    clients: { trust: new ClientTrust(Buffer.from(authority.certificate)), isRequired: true },
    findKey: () => undefined,
  })
  const without = openssl(t, server.port)
  await without.until(/handshake failure/)
  const strange = openssl(t, server.port, ...(await certificateFiles(t, new Authority('Elsewhere'), 'device-7')))
  await strange.until(/unknown ca/)
  assert.deepEqual(server.opened, [])
  assert.deepEqual(server.refused, [
    'it has sent no certificate, which fail_if_no_peer_cert requires',
    'its certificate is of an authority that is not in cacertfile',
  ])
})

test('[F7] a session is resumed by its ID, and not after its key was removed', async (t) => {
  let known: Buffer | undefined = key
  const server = await startEcho(t, { ...keyCredentials, findKey: () => known }, 300)
  const file = join(await temporaryFolder(t), 'session.pem')
  const words = ['-psk_identity', identity, '-psk', hexKey, '-cipher', 'PSK-AES128-GCM-SHA256']
  const first = openssl(t, server.port, ...words, '-sess_out', file)
  await first.until(/Verify return code/)
  first.child.stdin?.end()
  await first.ended
  const second = openssl(t, server.port, ...words, '-sess_in', file)
  second.child.stdin?.write('hello\n')
  await second.until(/echo hello/)
  await second.until(/Reused, /)
  assert.equal(server.opened[1]?.credentials.pskIdentity, identity)
  known = Buffer.from('ffffffffffffffffffffffffffffffff', 'hex')
  const third = openssl(t, server.port, ...words, '-sess_in', file)
  await server.untilRefused(1)
  await third.stop()
  assert.equal(server.opened.length, 2)
})

test("[F7] GnuTLS' client verifies an RSA certificate: ECDHE-RSA", async (t) => {
  const folder = await temporaryFolder(t)
  const file = (name: string): string => join(folder, name)
  const request = 'req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 -addext subjectAltName=DNS:localhost'
  const files = ['-keyout', file('key.pem'), '-out', file('cert.pem')]
  const make = startClient(t, 'openssl', [...request.split(' '), ...files])
  assert.equal(await make.ended, 0, make.errors)
  const [certificate, pem] = [await readFile(file('cert.pem'), 'utf8'), await readFile(file('key.pem'), 'utf8')]
  const server = await startEcho(t, { ...keyCredentials, certificate: certificateOf({ certificate, key: pem }) })
  const words = ['--udp', '-p', String(server.port), 'localhost', '--x509cafile', file('cert.pem')]
  const client = startClient(t, 'gnutls-cli', [...words, '--priority', 'NORMAL:-VERS-ALL:+VERS-DTLS1.2'])
  await client.until(/Handshake was completed/)
  client.child.stdin?.write('hello\n')
  await client.until(/echo hello/)
  assert.equal(server.opened[0]?.suiteName, 'ECDHE-RSA-AES128-GCM-SHA256')
})
