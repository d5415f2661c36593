// The objects of a cluster.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromJson } from '../../src/deploy/index.ts'
import { validateDocument } from '../../src/manifests/index.ts'
import { renderObjects, validateCluster, writeCluster } from './resources.ts'

interface Container {
  readonly name: string
  readonly imagePullPolicy: string
  readonly args: readonly string[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
}
interface StatefulSet {
  readonly spec: {
    readonly replicas: number
    readonly selector: { readonly matchLabels: object }
    readonly template: {
      readonly metadata: {
        readonly labels: Readonly<Record<string, string>>
        readonly annotations: Readonly<Record<string, string>>
      }
      readonly spec: {
        readonly containers: readonly Container[]
        readonly securityContext: { readonly sysctls?: unknown }
      }
    }
    readonly volumeClaimTemplates?: readonly { readonly spec: object }[]
  }
}

function renderStatefulSet(spec: Readonly<Record<string, unknown>>, parts = {}): StatefulSet {
  return renderObjects(writeCluster(spec, parts)).get('StatefulSet plant') as unknown as StatefulSet
}

function readHash(config: string): string | undefined {
  return renderStatefulSet({ config }).spec.template.metadata.annotations['apps.godwit.io/restart-hash']
}

function renderSecurityContext(ports: object): { readonly sysctls?: unknown } {
  return renderStatefulSet({ emqxTemplate: { listener: { ports } } }).spec.template.spec.securityContext
}

test('the objects of the smallest cluster, in the order in which they can be created', () => {
  assert.deepEqual(
    [...renderObjects(writeCluster()).keys()],
    [
      'ServiceAccount plant',
      'ConfigMap plant-config',
      'ConfigMap plant-acl',
      'Service plant-headless',
      'Service plant',
      'StatefulSet plant',
      'PodDisruptionBudget plant',
    ],
  )
})

test('the pull policy follows the tag, and the port of a registry is no tag', () => {
  const digest = `sha256:${'0'.repeat(64)}`
  const cases = [
    ['godwit', 'Always'],
    ['godwit:latest', 'Always'],
    ['registry.example:5000/godwit', 'Always'],
    ['registry.example:5000/godwit:1.0', 'IfNotPresent'],
    ['godwit:1.0', 'IfNotPresent'],
    [`godwit@${digest}`, 'IfNotPresent'],
    [`godwit:latest@${digest}`, 'Always'],
  ] as const
  for (const [image, policy] of cases) {
    const [container] = renderStatefulSet({ image }).spec.template.spec.containers
    assert.equal(container?.imagePullPolicy, policy, image)
  }
  const [written] = renderStatefulSet({ image: 'godwit', imagePullPolicy: 'Never' }).spec.template.spec.containers
  assert.equal(written?.imagePullPolicy, 'Never')
})

test('selectors have one label that never changes', () => {
  const { spec } = renderStatefulSet(
    { labels: { team: 'a' } },
    { metadata: { name: 'plant', labels: { team: 'b', site: 'x' } } },
  )
  assert.deepEqual(spec.selector.matchLabels, { 'apps.godwit.io/instance': 'plant' })
  assert.deepEqual(spec.template.metadata.labels, {
    'app.kubernetes.io/instance': 'plant',
    'app.kubernetes.io/managed-by': 'godwit-operator',
    'app.kubernetes.io/name': 'godwit',
    'apps.godwit.io/instance': 'plant',
    site: 'x',
    team: 'a',
  })
})

test('the hash for restarts changes with settings that need one, and with no others', () => {
  assert.equal(readHash('log.level = info'), readHash('log.level = warn'))
  assert.notEqual(readHash('node.shards = 2'), readHash('node.shards = 3'))
  assert.equal(readHash('node { shards = 2 }'), readHash('# comment\nnode.shards = 2'))
})

test('a port below 1024 needs a parameter of the kernel', () => {
  assert.equal(renderSecurityContext({ mqtt: 1883 }).sysctls, undefined)
  assert.deepEqual(renderSecurityContext({ mqtt: 443 }).sysctls, [
    { name: 'net.ipv4.ip_unprivileged_port_start', value: '0' },
  ])
})

test('the same resource gives the same objects', () => {
  const text = writeCluster({ labels: { b: '1', a: '2' }, storage: { resources: { requests: { storage: '1Gi' } } } })
  assert.deepEqual([...renderObjects(text)], [...renderObjects(text)])
})

test('faults prevent every object', () => {
  assert.deepEqual(validateCluster({ replicas: -1 }).resources, [])
})

test('a resource from the API server is read like a text', () => {
  const document = fromJson(JSON.parse(writeCluster({ replicas: -1 })))
  assert.ok(document !== undefined)
  assert.deepEqual(validateDocument(document).faults, [
    { path: 'spec.replicas', line: 0, message: '-1 is out of range', hint: 'use a number from 0 to 2147483647' },
  ])
})
