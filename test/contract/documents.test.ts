import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  type Endpoint,
  listOperations,
  createOpenApi,
  writeApiPage,
  writeErrorsPage,
} from '../../src/contract/index.ts'
import { endpoints } from '../../src/api/endpoints.ts'
import { contractDocuments } from './contract-documents.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))
const all: Record<string, Endpoint> = endpoints

for (const [path, text] of Object.entries(contractDocuments())) {
  test(`${path} agrees with the contract (npm run generate writes it)`, () => {
    assert.ok(readFileSync(checkout + path, 'utf8') === text, `${path} is not up to date: npm run generate`)
  })
}

test('no two operations have the same method and path', () => {
  const operations = Object.values(createOpenApi(endpoints, '1').paths).flatMap(Object.values)
  const addresses = Object.values(all).flatMap(({ atRoot }) => (atRoot === 'also' ? [1, 2] : [1]))
  assert.equal(operations.length, addresses.length)
})

test('each operation has a unique name, and each path parameter is documented', () => {
  const { paths } = createOpenApi(endpoints, '1')
  const names = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
  assert.equal(new Set(names).size, names.length)
  for (const [path, methods] of Object.entries(paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const { parameters = [] } of Object.values(methods)) {
      const documented = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
      assert.deepEqual(documented, inPath, path)
    }
  }
})

test('only operations that the API guide names succeed without a code', () => {
  const withoutCode = Object.entries(createOpenApi(endpoints, '1').paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ responses }) => {
      const success = JSON.stringify(responses['200']?.['content'] ?? {})
      return success.includes('application/json') && !success.includes('"code"') ? [path] : []
    }),
  )
  const subjects = withoutCode.map((path) => path.replace(/^(\/api\/v\d\/[a-z]+).*/, '$1'))
  assert.deepEqual([...new Set(subjects)].toSorted(), [
    '/api/docs/openapi.json',
    '/api/v4/metrics',
    ...['actions', 'connectors', 'gateways', 'mqtt', 'plugins', 'rule', 'rules', 'schema', 'sources'].map(
      (each) => `/api/v5/${each}`,
    ),
  ])
})

test('an operation documents only parameters that are in its path', () => {
  for (const [name, { path, params }] of Object.entries(all)) {
    for (const key of Object.keys(params?.properties ?? {})) assert.ok(path.includes(`:${key}`), `${name}: ${key}`)
  }
})

test('the listing has operations below the prefix, with their paths relative to it', () => {
  const listing = listOperations(endpoints)
  assert.deepEqual(
    listing.find(({ name }) => name === 'list_brokers'),
    { path: '/brokers', name: 'list_brokers', method: 'GET', descr: endpoints.list_brokers.summary },
  )
  assert.ok(listing.every(({ path }) => !path.startsWith('/api/')))
})

test('the listing has the operations that scripts search for, with their names and paths', () => {
  const listed = new Map(listOperations(endpoints).map(({ name, path, method }) => [name, `${method} ${path}`]))
  for (const [name, place] of Object.entries(expected)) assert.equal(listed.get(name), place, name)
})

const expected = {
  list_brokers: 'GET /brokers',
  list_nodes: 'GET /nodes',
  list_clients: 'GET /clients',
  lookup_client: 'GET /clients/:clientid',
  lookup_client_via_username: 'GET /clients/username/:username',
  list_subscriptions: 'GET /subscriptions',
  lookup_client_subscriptions: 'GET /subscriptions/:clientid',
  'list_topic-tree': 'GET /topic-tree',
  get_broker_configuration: 'GET /configuration/',
  set_broker_configuration: 'POST /configuration/',
  ctrl_broker: 'POST /ctrl/:action',
}

test('texts of the contract are escaped in the HTML page, which has no script', () => {
  const summary = '<script>alert("1")</script> & <img onerror=x>'
  const evil: Endpoint = { method: 'GET', path: '/evil', summary, reply: 'text', access: 'read' }
  const page = writeApiPage(createOpenApi({ evil }, '1'))
  assert.ok(!/<script|<img/.test(page))
  assert.match(page, /&lt;script&gt;alert\(&quot;1&quot;\)/)
  assert.match(page, /content-security-policy" content="default-src 'none'/)
})

test('the page of errors names the operations that return each code', () => {
  const failing: Endpoint = {
    method: 'GET',
    path: '/failing',
    summary: 'Fails.',
    reply: 'text',
    access: 'read',
    failures: ['clientOffline'],
  }
  assert.match(writeErrorsPage({ failing }), /\| 112 \| 404 \| the client is offline \| `failing` \|/)
})
