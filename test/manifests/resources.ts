// Resources for the tests of `deploy` and `manifests`.

import { renderResources, validateText, type ValidatedText } from '../../src/manifests/index.ts'
import type { Fault, KubernetesObject } from '../../src/deploy/index.ts'

/** Parts of a resource; each replaces the whole part of the smallest valid one. */
export interface ResourceParts {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly spec?: Readonly<Record<string, unknown>>
}

/** Returns a valid GodwitCluster with further fields in its spec, as JSON with one line for each value. */
export function writeCluster(spec: object = {}, parts: ResourceParts = {}): string {
  const resource = {
    apiVersion: 'apps.godwit.io/v1beta2',
    kind: 'GodwitCluster',
    metadata: { name: 'plant', namespace: 'factory' },
    ...parts,
    spec: { image: 'registry.example/godwit:1.0.0', ...spec },
  }
  return JSON.stringify(resource, undefined, 2)
}

/** Validates a cluster with these fields in its spec. */
export function validateCluster(spec: object, parts?: ResourceParts): ValidatedText {
  return validateText(writeCluster(spec, parts))
}

/** Returns the faults as `path: message`. */
export function listFaults(faults: readonly Fault[]): readonly string[] {
  return faults.map(({ path, message }) => `${path}: ${message}`)
}

/** Renders a valid cluster; its objects by kind and name. */
export function renderObjects(text: string): ReadonlyMap<string, KubernetesObject> {
  const { resources, faults } = validateText(text)
  if (faults.length > 0) throw new Error(listFaults(faults).join('\n'))
  return new Map(renderResources(resources, {}).map((object) => [`${object.kind} ${object.metadata.name}`, object]))
}
