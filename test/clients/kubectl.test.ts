// kubectl decodes the rendered objects into the types of Kubernetes, without a cluster. What it does not know is lost, so its output is compared.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import type { KubernetesObject } from '../../src/deploy/index.ts'
import { writeYaml } from '../../src/manifests/index.ts'
import { exampleResources } from '../manifests/examples.ts'
import { renderObjects } from '../manifests/resources.ts'
import { hasKubectl, unpackKubectl } from './unpack-kubectl.ts'

const skip = hasKubectl ? false : 'the package has kubectl for Linux on x86-64 only'

interface Result {
  readonly output: string
  readonly errors: string
}

/** Gives YAML to kubectl. Its exit code is not 0 as soon as one object has no selector. */
function runKubectl(words: readonly string[], objects: readonly KubernetesObject[]): Promise<Result> {
  return new Promise((resolve) => {
    const environment = { KUBECONFIG: '/dev/null', HOME: '/nonexistent' }
    const process = execFile(
      unpackKubectl(),
      [...words, '--local', '-f', '-', '-o', 'json'],
      { env: environment },
      (_, output, errors) => resolve({ output, errors }),
    )
    process.stdin?.end(writeYaml(objects))
  })
}

/** Returns the documents of a stream of JSON documents. */
function parseStream(text: string): unknown[] {
  return text
    .split(/^(?=\{$)/m)
    .filter((part) => part.trim() !== '')
    .map((part) => JSON.parse(part) as unknown)
}

/** Returns the places where `found` lacks what `expected` has. A quantity may be written in another way. */
function findLost(expected: unknown, found: unknown, path: string): string[] {
  if (typeof expected !== 'object' || expected === null) {
    const isQuantity = /\.(limits|requests)\./.test(path)
    return expected === found || (isQuantity && found !== undefined)
      ? []
      : [`${path}: ${String(expected)}, not ${String(found)}`]
  }
  if (typeof found !== 'object' || found === null) return Object.keys(expected).length === 0 ? [] : [path]
  return Object.entries(expected).flatMap(([key, value]) =>
    findLost(value, (found as Readonly<Record<string, unknown>>)[key], `${path}.${key}`),
  )
}

const otherKinds = ['PodMonitor']

for (const [name, text] of exampleResources)
  test(
    `${name}: kubectl decodes every object, and loses nothing of Services and the StatefulSet`,
    { skip },
    async () => {
      const objects = [...renderObjects(text).values()].filter(({ kind }) => !otherKinds.includes(kind))
      const decoded = await runKubectl(['set', 'selector', 'apps.godwit.io/instance=plant'], objects)
      assert.equal(/unable to decode|error parsing|cannot unmarshal/.test(decoded.errors), false, decoded.errors)
      const services = objects.filter(
        ({ kind, spec }) => kind === 'Service' && !JSON.stringify(spec).includes('ExternalName'),
      )
      const found = parseStream(decoded.output) as KubernetesObject[]
      for (const service of services) {
        const other = found.find(({ metadata }) => metadata.name === service.metadata.name)
        assert.deepEqual(findLost(service, other, service.metadata.name), [])
      }
      const [stateful] = objects.filter(({ kind }) => kind === 'StatefulSet')
      assert.ok(stateful !== undefined)
      const account = objects.find(({ kind }) => kind === 'ServiceAccount')?.metadata.name ?? ''
      const { output, errors } = await runKubectl(['set', 'serviceaccount', account], [stateful])
      assert.deepEqual(findLost(stateful, parseStream(output)[0], ''), [], errors)
    },
  )

test('an object with a field of a wrong type is not decoded', { skip }, async () => {
  const [, text] = exampleResources.find(([name]) => name === 'smallest') ?? ['', '']
  const service = renderObjects(text).get('Service plant')
  assert.ok(service !== undefined)
  const { errors } = await runKubectl(['set', 'selector', 'a=b'], [{ ...service, spec: { ports: 'x' } }])
  assert.match(errors, /unable to decode/)
  assert.deepEqual(findLost({ a: [{ b: 1 }] }, { a: [{}] }, ''), ['.a.0.b: 1, not undefined'])
})
