// CustomResourceDefinitions of the resources.

import type { JsonObject } from '../documents/manifest-node.ts'
import { ownGroup, resourceVersion } from '../resource/cluster-names.ts'
import { resourceKinds, type ResourceKind } from '../resource/resource-kinds.ts'
import { rulesBySubject, transitionsBySubject } from '../rules/all-rules.ts'
import { SchemaWriter } from './crd-schema.ts'

/** Returns the definitions of our group, or of the group of EMQX. */
export function createCrds(options: { readonly isEmqx: boolean }): readonly JsonObject[] {
  return resourceKinds.filter(({ group }) => (group === ownGroup) !== options.isEmqx).map(createCrd)
}

function createCrd(resource: ResourceKind): JsonObject {
  const { group, kind, plural, shortNames, columns, isScalable } = resource
  const scale = {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  }
  const version = {
    name: resourceVersion,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: writeSchema(resource) },
    subresources: { status: {}, ...(isScalable ? { scale } : {}) },
    additionalPrinterColumns: columns.map(({ name, type, path }) => ({ name, type, jsonPath: path })),
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames,
        categories: ['godwit'],
      },
      versions: [version],
    },
  }
}

function writeSchema({ subject, spec, status, description }: ResourceKind): JsonObject {
  const writer = new SchemaWriter([...rulesBySubject[subject], ...transitionsBySubject[subject]])
  const rules = writer.writeRules('')
  return {
    description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'Version of the schema of this object.' },
      kind: { type: 'string', description: 'Kind of this object.' },
      metadata: { type: 'object' },
      spec: writer.writeField(spec, 'spec', 'The desired state.'),
      status: writer.writeField(status, 'status', 'The state that the operator has found.'),
    },
    ...(rules.length === 0 ? {} : { 'x-kubernetes-validations': rules }),
  }
}
