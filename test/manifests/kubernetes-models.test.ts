// Every rendered object is valid by the definitions of Kubernetes (`kubernetes-models`, generated from its OpenAPI).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '../../src/deploy/index.ts'
import { exampleResources } from './examples.ts'
import { renderObjects, writeCluster } from './resources.ts'

interface Model {
  new (object: unknown): { validate(): void }
}

const modules: Readonly<Record<string, () => Promise<unknown>>> = {
  v1: () => import('kubernetes-models/v1'),
  'apps/v1': () => import('kubernetes-models/apps/v1'),
  'policy/v1': () => import('kubernetes-models/policy/v1'),
  'networking.k8s.io/v1': () => import('kubernetes-models/networking.k8s.io/v1'),
}

/** Kinds of other projects, which the package has not. */
const otherKinds = ['PodMonitor']

async function validateObject({ apiVersion, kind, ...rest }: KubernetesObject): Promise<void> {
  const load = modules[apiVersion]
  assert.ok(load !== undefined, `${apiVersion} ${kind}`)
  const found = (await load()) as Readonly<Record<string, Model>>
  const model = found[kind]
  assert.ok(model !== undefined, kind)
  new model({ apiVersion, kind, ...rest }).validate()
}

for (const [name, text] of exampleResources)
  test(`${name}: every object is valid`, async () => {
    const objects = [...renderObjects(text).values()].filter(({ kind }) => !otherKinds.includes(kind))
    assert.ok(objects.length >= 6)
    for (const object of objects) await validateObject(JSON.parse(JSON.stringify(object)) as KubernetesObject)
  })

test('an object with a field of a wrong type is invalid', async () => {
  const service = renderObjects(writeCluster()).get('Service plant')
  assert.ok(service !== undefined)
  await assert.rejects(validateObject({ ...service, spec: { ports: 'x' } }))
})
