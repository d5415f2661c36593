// Files of a QUIC listener that change while it is open.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { QuicFiles } from '../../src/transports/index.ts'
import { EventQueue } from './event-queue.ts'
import { authority, broker, connectPacket, openQuicStage } from './quic-stage.ts'

test('a revoked client certificate is refused from then on, and a new certificate of the listener is reported', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'godwit-quic-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const problems = new EventQueue<string>()
  const opening = QuicFiles.open({
    settings: {
      certificate: {
        certFile: file('cert.pem', broker.certificate),
        keyFile: file('key.pem', broker.key),
        keyPassword: undefined,
      },
      byServerName: [],
      caFile: file('ca.pem', authority.certificate),
      crlFile: file('crl.pem', authority.revoke()),
      verifyPeer: true,
      failIfNoPeerCertificate: true,
      minVersion: 'TLSv1.3',
      maxVersion: 'TLSv1.3',
      ciphers: undefined,
      acceptsPsk: false,
      pskFile: undefined,
      handshakeTimeoutMs: 5_000,
    },
    onProblem: (problem) => problems.add(problem?.message ?? 'in order again'),
  })
  assert.ok('files' in opening)
  const { files } = opening
  t.after(() => files.close())
  const stage = await openQuicStage(t, { credentials: files.credentials })
  const enters = async (name: string, { certificate, key }: { certificate: string; key: string }): Promise<void> => {
    const client = await stage.client({ cert: certificate, key })
    client.open().send(connectPacket)
    assert.equal((await stage.streams.next()).credentials?.certificate?.commonName, name)
  }
  const isRefused = async ({ certificate, key }: { certificate: string; key: string }): Promise<void> => {
    // The client may get the refusal before its handshake is complete.
    const client = await stage.client({ cert: certificate, key }).catch(() => undefined)
    await client?.ended
    assert.equal(await stage.refusals.next(), '127.0.0.1: its certificate has been revoked')
  }
  const devices = [7, 8].map((number) => authority.issue(`device-${number}`))
  const [seven, eight] = devices
  assert.ok(seven !== undefined && eight !== undefined)
  await enters('device-7', seven)
  file('crl.pem', authority.revoke(seven.certificate))
  await files.reload()
  await isRefused(seven)
  await enters('device-8', eight)

  file('crl.pem', '-----BEGIN X509 CRL-----')
  await files.reload()
  assert.match(await problems.next(), /crl\.pem/)
  await enters('device-8', eight)
  file('crl.pem', authority.revoke(...devices.map(({ certificate }) => certificate)))
  await files.reload()
  assert.equal(await problems.next(), 'in order again')
  await isRefused(eight)

  const renewed = authority.issue('broker', { hostNames: ['localhost'] })
  file('cert.pem', renewed.certificate)
  file('key.pem', renewed.key)
  await files.reload()
  assert.match(await problems.next(), /in use after the listener is reopened/)
})
