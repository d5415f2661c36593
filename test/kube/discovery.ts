// Discovery: the groups, versions and resources that the server has.

import type { JsonObject } from './kube-object.ts'
import { formatApiVersion, type ResourceType } from './resource-types.ts'

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

export function listGroups(types: readonly ResourceType[]): JsonObject {
  const groups = [...new Set(types.map(({ group }) => group))].filter((group) => group !== '')
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map((group) => describeGroup(types, group)) }
}

export function describeGroup(types: readonly ResourceType[], name: string): JsonObject {
  const versions = [...new Set(types.filter(({ group }) => group === name).map(({ version }) => version))]
  const items = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }))
  return { kind: 'APIGroup', apiVersion: 'v1', name, versions: items, preferredVersion: items[0] }
}

export function listResources(types: readonly ResourceType[], groupVersion: string): JsonObject {
  const found = types.filter((type) => formatApiVersion(type) === groupVersion)
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: found.flatMap(describeType) }
}

function describeType(type: ResourceType): JsonObject[] {
  const { plural, singular, kind, isNamespaced, shortNames } = type
  const describeSubresource = (name: string, subKind: string): JsonObject => ({
    name: `${plural}/${name}`,
    singularName: '',
    namespaced: isNamespaced,
    kind: subKind,
    verbs: ['get', 'patch', 'update'],
  })
  return [
    { name: plural, singularName: singular, namespaced: isNamespaced, kind, verbs, shortNames },
    ...(type.hasStatus ? [describeSubresource('status', kind)] : []),
    ...(type.scale === undefined ? [] : [describeSubresource('scale', 'Scale')]),
  ]
}
