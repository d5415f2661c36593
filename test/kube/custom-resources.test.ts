// Custom resources: schema, defaults, pruning, rules, status and scale.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { requestUntil, startApi, type KubeRequests } from './kube-requests.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const widgets = '/apis/example.io/v1/namespaces/default/widgets'

const specSchema = {
  type: 'object',
  required: ['image'],
  properties: {
    image: { type: 'string', minLength: 1 },
    replicas: { type: 'integer', format: 'int32', default: 3, minimum: 0 },
    policy: { type: 'string', enum: ['A', 'B'] },
    mode: { type: 'string', default: 'x' },
    note: { type: 'string', nullable: true },
    port: { 'x-kubernetes-int-or-string': true },
    vars: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, value: { type: 'string' } },
      },
    },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
  'x-kubernetes-validations': [
    { rule: "self.mode != 'bad'", message: 'mode must not be bad' },
    {
      rule: '!has(oldSelf.policy) || (has(self.policy) && self.policy == oldSelf.policy)',
      message: 'policy is immutable',
    },
  ],
}

const conditions = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status'],
    properties: { type: { type: 'string' }, status: { type: 'string' } },
  },
}

const statusSchema = {
  type: 'object',
  properties: { replicas: { type: 'integer' }, selector: { type: 'string' }, conditions },
}

const definition = {
  metadata: { name: 'widgets.example.io' },
  spec: {
    group: 'example.io',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
            labelSelectorPath: '.status.selector',
          },
        },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: specSchema, status: statusSchema } } },
      },
    ],
  },
}

function specSchemaOf({ spec }: typeof definition): typeof specSchema {
  const [version] = spec.versions
  assert.ok(version)
  return version.schema.openAPIV3Schema.properties.spec
}

async function startWithWidgets(t: TestContext): Promise<KubeRequests> {
  const requests = await startApi(t)
  assert.equal((await requests.request('POST', definitions, definition)).statusCode, 201)
  await requestUntil(
    () => requests.request('GET', `${definitions}/widgets.example.io`),
    ({ get }) => JSON.stringify(get('.status') ?? '').includes('Established'),
  )
  return requests
}

const widget = (name: string, spec: object, metadata = {}): object => ({
  apiVersion: 'example.io/v1',
  kind: 'Widget',
  metadata: { name, ...metadata },
  spec,
})

test('a custom resource gets defaults and loses unknown fields', async (t) => {
  const { request } = await startWithWidgets(t)
  const input = { image: 'x', bogus: 1, free: { any: 1 }, note: null, mode: null }
  const created = await request('POST', widgets, widget('a', input))
  assert.deepEqual(created.body['spec'], { image: 'x', replicas: 3, mode: 'x', free: { any: 1 }, note: null })
  assert.equal(created.get('.metadata.generation'), 1)
  assert.match(String(created.warning), /unknown field \\"spec\.bogus\\"/)
  const strict = await request('POST', `${widgets}?fieldValidation=Strict`, widget('b', input))
  assert.equal(strict.statusCode, 400)
  assert.match(String(strict.get('.message')), /unknown field "spec\.bogus"/)
})

test('each fault of a custom resource has a cause', async (t) => {
  const { request } = await startWithWidgets(t)
  const faults: readonly (readonly [object, string])[] = [
    [{}, 'spec.image'],
    [{ image: 1 }, 'spec.image'],
    [{ image: 'x', policy: 'C' }, 'spec.policy'],
    [{ image: 'x', replicas: -1 }, 'spec.replicas'],
    [{ image: '' }, 'spec.image'],
    [{ image: 'x', port: true }, 'spec.port'],
    [{ image: 'x', vars: [{ name: 'a' }, { name: 'a' }] }, 'spec.vars[1]'],
    [{ image: 'x', mode: 'bad' }, 'spec'],
  ]
  for (const [spec, field] of faults) {
    const refused = await request('POST', widgets, widget('bad', spec))
    assert.equal(refused.statusCode, 422, JSON.stringify(spec))
    assert.deepEqual(
      (refused.get('.details.causes') as { field: string }[]).map((cause) => cause.field),
      [field],
    )
  }
  await request('POST', widgets, widget('a', { image: 'x', policy: 'A' }))
  const change = await request('PATCH', `${widgets}/a`, { spec: { policy: 'B' } }, 'merge')
  assert.equal(change.statusCode, 422)
  assert.match(String(change.get('.message')), /policy is immutable/)
})

test('a definition that is not structural is refused', async (t) => {
  const { request } = await startApi(t)
  const untyped = structuredClone(definition)
  Object.assign(specSchemaOf(untyped).properties, { a: {} })
  const refused = await request('POST', definitions, untyped)
  assert.equal(refused.statusCode, 422)
  assert.match(String(refused.get('.message')), /properties\[a\]\.type: must not be empty/)
  const rules = structuredClone(definition)
  specSchemaOf(rules)['x-kubernetes-validations'] = [{ rule: 'self.mode !=', message: '' }]
  assert.match(String((await request('POST', definitions, rules)).get('.message')), /compilation failed/)
})

test('status and specification change separately', async (t) => {
  const { request } = await startWithWidgets(t)
  await request('POST', widgets, widget('a', { image: 'x' }))
  assert.equal((await request('PATCH', `${widgets}/a`, { status: { replicas: 9 } }, 'merge')).body['status'], undefined)
  const status = { status: { replicas: 3, selector: 'a=b' }, spec: { image: 'z' } }
  const changed = await request('PATCH', `${widgets}/a/status`, status, 'merge')
  assert.deepEqual([changed.get('.status.replicas'), changed.get('.spec.image')], [3, 'x'])
  assert.equal(changed.get('.metadata.generation'), 1)
  const labels = await request('PATCH', `${widgets}/a`, { metadata: { labels: { l: '1' } } }, 'merge')
  assert.equal(labels.get('.metadata.generation'), 1)
  assert.equal(
    (await request('PATCH', `${widgets}/a`, { spec: { replicas: 4 } }, 'merge')).get('.metadata.generation'),
    2,
  )
  const scale = await request('GET', `${widgets}/a/scale`)
  assert.deepEqual(
    [scale.get('.kind'), scale.get('.spec.replicas'), scale.body['status']],
    ['Scale', 4, { replicas: 3, selector: 'a=b' }],
  )
  await request('PATCH', `${widgets}/a/scale`, { spec: { replicas: 5 } }, 'merge')
  assert.equal((await request('GET', `${widgets}/a`)).get('.spec.replicas'), 5)
})

test('server-side apply has owners of fields, conflicts and force', async (t) => {
  const { request } = await startWithWidgets(t)
  const apply = (spec: object, manager: string, query = '', metadata = {}) =>
    request('PATCH', `${widgets}/a?fieldManager=${manager}${query}`, widget('a', spec, metadata), 'apply')
  assert.equal((await request('PATCH', `${widgets}/a`, widget('a', { image: 'x' }), 'apply')).statusCode, 422)
  const first = await apply({ image: 'x', vars: [{ name: 'a', value: '1' }] }, 'm1')
  assert.equal(first.statusCode, 201)
  const same = await apply({ image: 'x', vars: [{ name: 'a', value: '1' }] }, 'm1')
  assert.equal(same.get('.metadata.resourceVersion'), first.get('.metadata.resourceVersion'))
  const second = await apply({ image: 'x', vars: [{ name: 'b', value: '2' }] }, 'm2')
  assert.equal((second.get('.spec.vars') as unknown[]).length, 2)
  const conflict = await apply({ image: 'y' }, 'm2')
  assert.equal(conflict.statusCode, 409)
  assert.deepEqual(conflict.get('.details.causes'), [
    { reason: 'FieldManagerConflict', field: '.spec.image', message: 'conflict with "m1" using example.io/v1' },
  ])
  const forced = await apply({ image: 'y' }, 'm2', '&force=true')
  assert.deepEqual([forced.get('.spec.image'), forced.get('.spec.vars')], ['y', [{ name: 'a', value: '1' }]])
  const less = await apply({}, 'm1')
  assert.deepEqual([less.get('.spec.image'), less.get('.spec.vars')], ['y', undefined])
  await request('PATCH', `${widgets}/a`, { spec: { replicas: 8 } }, 'merge')
  assert.equal((await apply({ image: 'y', replicas: 2 }, 'm2')).statusCode, 409)
  assert.equal((await apply({ image: 'y' }, 'm2', '', { resourceVersion: '1' })).statusCode, 409)
  assert.equal((await apply({ image: 'y' }, 'm2', '', { managedFields: [] })).statusCode, 400)
  for (const type of ['A', 'B']) {
    const status = {
      apiVersion: 'example.io/v1',
      kind: 'Widget',
      metadata: { name: 'a' },
      status: { conditions: [{ type, status: 'True' }] },
    }
    await request('PATCH', `${widgets}/a/status?fieldManager=${type}&force=true`, status, 'apply')
  }
  const types = ((await request('GET', `${widgets}/a`)).get('.status.conditions') as { type: string }[]).map(
    ({ type }) => type,
  )
  assert.deepEqual(types, ['A', 'B'])
})
