// The ACL of an object of S3: a header that is signed with the request.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileTemplate } from '../../src/rules/index.ts'
import { s3SinkType } from '../../src/sinks/s3/s3-sink.ts'
import { signRequest } from '../../src/sinks/s3/sign-request.ts'
import { HttpService } from '../e2e/http-service.ts'

const request = { method: 'PUT', host: 'h', path: '/b/k', query: '', body: Buffer.from('x') }
const credentials = { accessKeyId: 'id', secretAccessKey: 'secret', region: 'r' }

const signatureOf = (headers: Record<string, string>) => /Signature=(\w+)$/.exec(headers['authorization'] ?? '')?.[1]

test('headers of the service are sent, and signed in the order of their names', () => {
  const plain = signRequest(request, credentials, 0)
  const signed = signRequest({ ...request, amzHeaders: { 'x-amz-acl': 'public-read' } }, credentials, 0)
  assert.equal(signed['x-amz-acl'], 'public-read')
  assert.match(signed['authorization'] ?? '', /SignedHeaders=host;x-amz-acl;x-amz-content-sha256;x-amz-date, /)
  assert.match(plain['authorization'] ?? '', /SignedHeaders=host;x-amz-content-sha256;x-amz-date, /)
  assert.notEqual(signatureOf(signed), signatureOf(plain))
  const other = signRequest({ ...request, amzHeaders: { 'x-amz-acl': 'private' } }, credentials, 0)
  assert.notEqual(signatureOf(other), signatureOf(signed), 'the value is signed')
})

type S3Types = Parameters<typeof s3SinkType.open>

test('an object is sent with the ACL and the headers of its action, and headers of S3 are signed', async (t) => {
  const service = await HttpService.start(t)
  const connector = {
    host: '127.0.0.1',
    port: service.port,
    region: 'r',
    access_key_id: 'id',
    secret_access_key: 'secret',
    connect_timeout: 1_000,
    pool_size: 1,
    ssl: { enable: false },
  } as unknown as S3Types[0]
  const context = { requestTimeoutMs: 5_000, compile: compileTemplate } as unknown as S3Types[2]
  for (const acl of ['bucket_owner_full_control', undefined] as const) {
    const headers = new Map([
      ['X-Amz-Storage-Class', 'STANDARD_IA'],
      ['Content-Type', 'text/plain'],
    ])
    const action = { parameters: { mode: 'direct', acl, headers } } as unknown as S3Types[1]
    const sink = s3SinkType.open(connector, action, context)
    t.after(() => sink.close())
    const entry = {
      payload: Buffer.from('x'),
      attributes: [
        ['bucket', 'bucket'],
        ['key', 'a'],
      ] as const,
    }
    assert.deepEqual(await sink.write([entry]), [{ outcome: 'done' }])
  }
  assert.deepEqual(
    service.received.map(({ path, headers }) => [
      path,
      headers['x-amz-acl'],
      headers['x-amz-storage-class'],
      headers['content-type'],
    ]),
    [
      ['/bucket/a', 'bucket-owner-full-control', 'STANDARD_IA', 'text/plain'],
      ['/bucket/a', undefined, 'STANDARD_IA', 'text/plain'],
    ],
  )
  const [{ headers }] = service.received
  assert.match(String(headers.authorization), /;x-amz-storage-class, Signature=/)
})
