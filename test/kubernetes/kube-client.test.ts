// The client against the API server of test/kube: TLS, tokens, certificates, errors.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  isConflict,
  isNotFound,
  KubeClient,
  type KubeRequestError,
  readKubeconfig,
  readPodConnection,
  type ConnectionReading,
} from '../../src/kubernetes/index.ts'
import { startKubeApi, type KubeApi } from '../kube/kube-api.ts'
import { Authority } from '../transports/certificates.ts'

const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' }
const map = { kind: configMaps, namespace: 'default', name: 'a' }
const authority = new Authority('test')
const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } }

async function startSecureApi(t: TestContext, tokens: Map<string, string>): Promise<KubeApi> {
  const { certificate, key } = authority.issue('kubernetes', { hostNames: ['localhost', '127.0.0.1'] })
  const api = await startKubeApi({ tls: { key, cert: certificate, clientAuthority: authority.certificate }, tokens })
  t.after(() => api.close())
  return api
}

function createFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'godwit-kube-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

function openClient(t: TestContext, reading: ConnectionReading): KubeClient {
  assert.ok('connection' in reading, JSON.stringify(reading))
  const client = new KubeClient(reading.connection)
  t.after(() => client.close())
  return client
}

function grant(api: KubeApi, user: string, verbs: readonly string[]): void {
  const { operations } = api
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs }]
  operations.create(operations.getKind('Role'), 'default', { metadata: { name: 'maps' }, rules }, { manager: 'test' })
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'maps' }
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }]
  const binding = { metadata: { name: 'maps' }, roleRef, subjects }
  operations.create(operations.getKind('RoleBinding'), 'default', binding, { manager: 'test' })
}

test('in a pod the client uses the service account, and its token when it is renewed', async (t) => {
  const tokens = new Map([['first', 'kubernetes-admin']])
  const api = await startSecureApi(t, tokens)
  const folder = createFolder(t)
  for (const [name, text] of Object.entries({
    token: 'first\n',
    'ca.crt': authority.certificate,
    namespace: 'default',
  })) {
    writeFileSync(join(folder, name), text)
  }
  const environment = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: new URL(api.url).port }
  const client = openClient(t, readPodConnection(environment, folder))
  assert.equal(client.namespace, 'default')
  await client.apply(map, body, 'test')
  tokens.clear()
  tokens.set('second', 'kubernetes-admin')
  await assert.rejects(client.get(map), { statusCode: 401 })
  writeFileSync(join(folder, 'token'), 'second\n')
  assert.deepEqual((await client.get(map))['data'], { k: 'v' })
})

test('outside of a pod, and without a service account, the problem names the remedy', (t) => {
  const outside = readPodConnection({})
  assert.ok('problem' in outside)
  assert.match(outside.problem, /--kubeconfig/)
  const without = readPodConnection({ KUBERNETES_SERVICE_HOST: '10.0.0.1' }, createFolder(t))
  assert.ok('problem' in without)
  assert.match(without.problem, /automountServiceAccountToken/)
})

test('a kubeconfig has a client certificate or a token, in the file or beside it', async (t) => {
  const api = await startSecureApi(t, new Map([['secret', 'reader']]))
  grant(api, 'reader', ['get'])
  const folder = createFolder(t)
  const file = join(folder, 'config')
  const { certificate, key } = authority.issue('kubernetes-admin')
  writeFileSync(join(folder, 'client.key'), key)
  writeFileSync(join(folder, 'token'), 'secret')
  const createConfig = (user: object): object => ({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [
      { name: 'k', cluster: { server: api.url, 'certificate-authority-data': encodeBase64(authority.certificate) } },
    ],
    users: [{ name: 'u', user }],
  })
  const certificateUser = { 'client-certificate-data': encodeBase64(certificate), 'client-key': 'client.key' }
  const administrator = openClient(t, readKubeconfig(createConfig(certificateUser), file))
  await administrator.apply(map, body, 'test')
  for (const user of [{ token: 'secret' }, { tokenFile: 'token' }]) {
    const reader = openClient(t, readKubeconfig(createConfig(user), file))
    assert.equal((await reader.get(map)).metadata.name, 'a')
    await assert.rejects(reader.mergePatch(map, { data: {} }), (error: KubeRequestError) => {
      assert.equal(error.statusCode, 403)
      assert.match(error.message, /User "reader" cannot patch resource "configmaps"/)
      return true
    })
  }
})

test('a kubeconfig that cannot be used is refused with the reason', () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [createUnusable({ exec: { command: 'aws' } }), /file: the user is authenticated by exec, which runs a program/],
    [createUnusable({ username: 'a', password: 'b' }), /use a token/],
    [createUnusable({ 'client-key-data': 'YQ==' }), /needs both client-certificate and client-key/],
    [createUnusable({ tokenFile: '/nonexistent' }), /ENOENT/],
    [createUnusable({}, 'other'), /contexts has no entry "other"/],
    [{}, /current-context is not set/],
    ['text', /this is no kubeconfig/],
  ]
  for (const [config, expected] of cases) {
    const reading = readKubeconfig(config, 'file')
    assert.ok('problem' in reading)
    assert.match(reading.problem, expected)
  }
})

test('a server with a certificate of another authority is refused', async (t) => {
  const api = await startSecureApi(t, new Map())
  const other = new Authority('other').certificate
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k' } }],
    clusters: [
      { name: 'k', cluster: { server: api.url, 'certificate-authority-data': Buffer.from(other).toString('base64') } },
    ],
  }
  const client = openClient(t, readKubeconfig(config, 'file'))
  await assert.rejects(client.get(map), /certificate/)
})

test('refusals of the server have their status and reason', async (t) => {
  const api = await startKubeApi()
  t.after(() => api.close())
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k' } }],
    clusters: [{ name: 'k', cluster: { server: api.url } }],
  }
  const client = openClient(t, readKubeconfig(config, 'file'))
  assert.equal(await client.find(map), undefined)
  await assert.rejects(client.get(map), (error) => isNotFound(error))
  const created = await client.create({ kind: configMaps, namespace: 'default' }, body)
  await client.mergePatch(map, { data: { k: 'w' } })
  await assert.rejects(client.replace(map, created), (error) => isConflict(error))
  await client.delete(map, { preconditions: { uid: created.metadata.uid } })
  assert.equal(await client.find(map), undefined)
  const none = { ...map, kind: { ...configMaps, plural: 'nothings' } }
  await assert.rejects(client.get(none), /404 the server could not find the requested resource/)
})

function encodeBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function createUnusable(user: object, context = 'c'): object {
  return {
    'current-context': context,
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user }],
  }
}
