// Users, and what roles allow them.

import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { KubeError } from './kube-error.ts'
import { getList, getObject, toText, type JsonObject, type KubeObject } from './kube-object.ts'
import type { KubeRequest } from './request-handler.ts'
import { parseResourcePath } from './request-path.ts'
import type { ResourceOperations } from './resource-operations.ts'

/** May do everything. */
export const administrator = 'kubernetes-admin'

/** Returns the user of a bearer token or of a client certificate (its common name). */
export function authenticate(incoming: IncomingMessage, tokens: ReadonlyMap<string, string> | undefined): string {
  if (tokens === undefined) return administrator
  const { socket } = incoming
  if (socket instanceof TLSSocket && socket.authorized) return toText(socket.getPeerCertificate().subject.CN)
  const [, token = ''] = /^Bearer (.+)$/.exec(incoming.headers.authorization ?? '') ?? []
  const user = tokens.get(token)
  if (user === undefined) throw new KubeError('Unauthorized', 'Unauthorized')
  return user
}

interface Attributes {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
}

/** Throws error 403 if no role of the user allows the request. Discovery is allowed. */
export function authorize(operations: ResourceOperations, user: string, request: KubeRequest): void {
  if (user === administrator) return
  for (const attributes of readAttributes(operations, request)) {
    if (isAllowed(operations, user, attributes)) continue
    const { verb, group, resource, namespace } = attributes
    const scope = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`
    throw new KubeError(
      'Forbidden',
      `${resource} is forbidden: User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" ${scope}`,
    )
  }
}

function readAttributes(
  operations: ResourceOperations,
  { method, path, query, contentType }: KubeRequest,
): Attributes[] {
  const parsed = parseResourcePath(path)
  if (parsed?.plural === undefined) return []
  const { group, plural, namespace = '', name = '', subresource } = parsed
  const resource = subresource === undefined ? plural : `${plural}/${subresource}`
  const attributes = { group, resource, namespace, name }
  const isCollection = name === ''
  const verbs: Readonly<Record<string, string>> = {
    GET: query.get('watch') === 'true' ? 'watch' : isCollection ? 'list' : 'get',
    POST: 'create',
    PUT: 'update',
    PATCH: 'patch',
    DELETE: isCollection ? 'deletecollection' : 'delete',
  }
  const type = operations.getType(group, plural)
  // An apply that creates the object needs both rights.
  const isCreating =
    contentType === 'application/apply-patch+yaml' &&
    subresource === undefined &&
    type !== undefined &&
    operations.store.get(type, namespace, name) === undefined
  return [verbs[method] ?? method, ...(isCreating ? ['create'] : [])].map((verb) => ({ ...attributes, verb }))
}

function isAllowed(operations: ResourceOperations, user: string, attributes: Attributes): boolean {
  const { namespace } = attributes
  const bindings = [
    ...operations.store.list(operations.getKind('ClusterRoleBinding')),
    ...(namespace === '' ? [] : operations.store.list(operations.getKind('RoleBinding'), namespace)),
  ]
  return bindings
    .filter((binding) => getList(binding, 'subjects').some((subject) => formatSubject(subject) === user))
    .flatMap((binding) => listRules(operations, binding))
    .some((rule) => allowsRequest(rule, attributes))
}

function formatSubject({ kind, name, namespace }: JsonObject): string {
  return kind === 'ServiceAccount' ? `system:serviceaccount:${toText(namespace)}:${toText(name)}` : toText(name)
}

function listRules(operations: ResourceOperations, binding: KubeObject): JsonObject[] {
  const reference = getObject(binding, 'roleRef')
  const isOfCluster = reference['kind'] === 'ClusterRole'
  const namespace = isOfCluster ? '' : (binding.metadata.namespace ?? '')
  const type = operations.getKind(isOfCluster ? 'ClusterRole' : 'Role')
  const role = operations.store.get(type, namespace, toText(reference['name']))
  return role === undefined ? [] : getList(role, 'rules')
}

function allowsRequest(rule: JsonObject, { verb, group, resource, name }: Attributes): boolean {
  const has = (key: string, value: string): boolean => {
    const values = (rule[key] ?? []) as string[]
    return values.includes(value) || values.includes('*')
  }
  const names = (rule['resourceNames'] ?? []) as string[]
  const isNamed = names.length === 0 || (name !== '' && names.includes(name))
  return has('verbs', verb) && has('apiGroups', group) && has('resources', resource) && isNamed
}
