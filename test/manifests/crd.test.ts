// The definitions of the resources for the API server.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCrds } from '../../src/deploy/index.ts'
import { rulesBySubject, transitionsBySubject } from '../../src/deploy/rules/all-rules.ts'

interface Schema {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message: string }[]
}

interface Definition {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly names: { readonly kind: string; readonly shortNames: readonly string[] }
    readonly versions: readonly {
      readonly schema: { readonly openAPIV3Schema: Schema }
      readonly subresources: object
    }[]
  }
}

const definitions = [false, true].flatMap((isEmqx) => createCrds({ isEmqx }) as unknown as Definition[])

/** Returns every schema with its path. */
function listSchemas(schema: Schema, path: string): [string, Schema][] {
  return [
    [path, schema],
    ...Object.entries(schema.properties ?? {}).flatMap(([name, part]) => listSchemas(part, `${path}.${name}`)),
    ...(schema.items === undefined ? [] : listSchemas(schema.items, `${path}[]`)),
    ...(schema.additionalProperties === undefined ? [] : listSchemas(schema.additionalProperties, `${path}{}`)),
  ]
}

const schemas = definitions.map(({ metadata, spec }) => ({
  name: metadata.name,
  all: listSchemas(spec.versions[0]?.schema.openAPIV3Schema ?? {}, ''),
}))
const [cluster = []] = schemas.map(({ all }) => all)

test('the definitions', () => {
  assert.deepEqual(
    definitions.map(({ metadata, spec }) => [
      metadata.name,
      spec.names.kind,
      spec.names.shortNames[0],
      Object.keys(spec.versions[0]?.subresources ?? {}),
    ]),
    [
      ['godwitclusters.apps.godwit.io', 'GodwitCluster', 'gwc', ['status', 'scale']],
      ['godwitbackups.apps.godwit.io', 'GodwitBackup', 'gwb', ['status']],
      ['godwitrestores.apps.godwit.io', 'GodwitRestore', 'gwr', ['status']],
      ['emqxenterprises.apps.emqx.io', 'EmqxEnterprise', 'emqx-ee', ['status', 'scale']],
    ],
  )
})

test('each field has a description, and everything has a limit', () => {
  for (const { name, all } of schemas) {
    assert.ok(all.length > 20)
    for (const [path, schema] of all) {
      const place = `${name} ${path}`
      const isField = /\.[^.[\]{}]+$/.test(path) && path !== '.metadata'
      if (isField) assert.ok((schema.description ?? '').length > 5, place)
      if (schema.type === 'string' && schema.enum === undefined && !/^\.(apiVersion|kind)$/.test(path))
        assert.ok(schema.maxLength !== undefined, place)
      if (schema.type === 'array') assert.ok(schema.maxItems !== undefined, place)
      if (schema.additionalProperties !== undefined) assert.ok(schema.maxProperties !== undefined, place)
    }
  }
})

test('unknown fields are kept only where Kubernetes checks them', () => {
  assert.deepEqual(
    cluster.filter(([, schema]) => schema['x-kubernetes-preserve-unknown-fields'] === true).map(([path]) => path),
    [
      '.spec.affinity',
      '.spec.storage.selector',
      '.spec.extraVolumes[]',
      '.spec.emqxTemplate.modules[].configs',
      '.spec.topologySpreadConstraints[].labelSelector',
      '.spec.extraContainers[]',
      '.spec.initContainers[]',
      '.spec.networkPolicy.from[].namespaceSelector',
      '.spec.networkPolicy.from[].podSelector',
    ],
  )
})

test('lists that the API server merges by a name', () => {
  assert.deepEqual(
    cluster
      .filter(([, schema]) => schema['x-kubernetes-list-type'] === 'map')
      .map(([path, schema]) => `${path} ${schema['x-kubernetes-list-map-keys']?.join()}`),
    [
      '.spec.env name',
      '.spec.emqxTemplate.plugins name',
      '.spec.emqxTemplate.modules name',
      '.spec.extraContainers name',
      '.spec.initContainers name',
      '.status.certificates listener',
      '.status.conditions type',
    ],
  )
})

test('defaults of the definition', () => {
  assert.deepEqual(
    cluster
      .filter(([, schema]) => schema.default !== undefined)
      .map(([path, schema]) => `${path} ${JSON.stringify(schema.default)}`),
    [
      '.spec.replicas 3',
      '.spec.tolerations[].operator "Equal"',
      '.spec.toleRations[].operator "Equal"',
      '.spec.storage.accessModes ["ReadWriteOnce"]',
      '.spec.storage.volumeMode "Filesystem"',
      '.spec.extraVolumeMounts[].readOnly false',
      '.spec.emqxTemplate.listener.type "ClusterIP"',
      '.spec.emqxTemplate.listener.management "service"',
      '.spec.terminationGracePeriodSeconds 60',
      '.spec.podDisruptionBudget.enabled true',
      '.spec.podDisruptionBudget.maxUnavailable 1',
      '.spec.networkPolicy.enabled false',
      '.spec.podMonitor.enabled false',
      '.spec.podMonitor.interval "30s"',
      '.spec.drain.timeoutSeconds 300',
      '.spec.drain.force false',
      '.spec.paused false',
      '.spec.backupOnDelete false',
    ],
  )
})

test('each rule with an expression is in the definition', () => {
  const written = new Set(
    schemas.flatMap(({ all }) =>
      all.flatMap(([, schema]) => (schema['x-kubernetes-validations'] ?? []).map(({ rule }) => rule)),
    ),
  )
  const rules = [...Object.values(rulesBySubject), ...Object.values(transitionsBySubject)].flat()
  const expressions = rules.flatMap(({ cel }) => (cel === undefined ? [] : [cel]))
  assert.ok(expressions.length > 40)
  assert.deepEqual(
    expressions.filter((cel) => !written.has(cel)),
    [],
  )
})
