// Services of rules in the form of EMQX 4: a resource is a connector of `v5/actions.ts`.

import { responseWith, endpoint, noContent, Type } from '../../../contract/index.ts'

const object = Type.Record(Type.String(), Type.Unknown())
const status = Type.Object({
  node: Type.String(),
  is_alive: Type.Boolean(),
  reason: Type.String({ description: 'Reason why the resource is not available; empty: the resource is available.' }),
})
const resource = {
  id: Type.String({ description: '`resource:NAME`, or `TYPE:NAME` where several connectors have the name.' }),
  type: Type.String(),
  description: Type.String(),
  config: Type.Record(Type.String(), Type.Unknown(), { description: 'Settings of the resource. Secrets are masked.' }),
}
const sent = {
  type: Type.String({ description: 'Type of the resource, from `GET /resource_types`.' }),
  config: Type.Optional(object),
  description: Type.Optional(Type.String({ maxLength: 65_535 })),
}
const kind = Type.Object({
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  connector: Type.String({ description: 'Type of the connector that this type of resource stands for.' }),
})
const params = Type.Object({ id: Type.String() })
const ofOne = {
  params,
  failures: ['invalidParameter'],
  otherStatuses: [['invalidParameter', 404]],
} as const

export const v4ResourceEndpoints = {
  list_actions: endpoint({
    method: 'GET',
    path: '/actions',
    summary: 'Lists kinds of actions that a rule of version 4 can have.',
    reply: responseWith(
      Type.Array(
        Type.Object({
          name: Type.String(),
          for: Type.String(),
          types: Type.Array(Type.String(), { description: 'Types of resources, one of which the action needs.' }),
          title: Type.String(),
          description: Type.String(),
          params: Type.Record(Type.String(), Type.String(), {
            description: 'Parameters of the action, with their descriptions.',
          }),
        }),
      ),
    ),
    access: 'read',
    isForNamespaces: true,
  }),
  list_resources: endpoint({
    method: 'GET',
    path: '/resources',
    summary: 'Lists connectors as resources.',
    reply: responseWith(Type.Array(Type.Object(resource))),
    access: 'read',
    isForNamespaces: true,
  }),
  create_resource: endpoint({
    method: 'POST',
    path: '/resources',
    summary: 'Creates a resource.',
    body: Type.Object({
      id: Type.Optional(
        Type.String({ description: 'ID of the resource as `resource:NAME` or `NAME`; absent: a random ID.' }),
      ),
      ...sent,
    }),
    reply: responseWith(Type.Object(resource)),
    failures: ['missingParameter', 'invalidParameter'],
    access: 'change',
    isForNamespaces: true,
  }),
  show_resource: endpoint({
    ...ofOne,
    method: 'GET',
    path: '/resources/:id',
    summary: 'Returns a resource with its state. If no action uses the resource, the broker checks the service.',
    reply: responseWith(Type.Object({ ...resource, status: Type.Array(status) })),
    access: 'read',
    isForNamespaces: true,
  }),
  update_resource: endpoint({
    ...ofOne,
    method: 'PUT',
    path: '/resources/:id',
    summary: 'Changes a resource. Absent members stay unchanged.',
    body: Type.Object({ ...sent, type: Type.Optional(sent.type) }),
    reply: responseWith(Type.Object(resource)),
    access: 'change',
    isForNamespaces: true,
  }),
  start_resource: endpoint({
    ...ofOne,
    method: 'POST',
    path: '/resources/:id',
    summary: 'Restarts the actions of a resource.',
    reply: noContent,
    access: 'change',
    isForNamespaces: true,
  }),
  delete_resource: endpoint({
    ...ofOne,
    method: 'DELETE',
    path: '/resources/:id',
    summary: 'Deletes a resource that no action uses.',
    reply: noContent,
    access: 'change',
    isForNamespaces: true,
  }),
  get_resource_status: endpoint({
    ...ofOne,
    method: 'GET',
    path: '/resource_status/:id',
    summary: 'Returns the state of a resource. If no action uses the resource, the broker checks the service.',
    reply: responseWith(status),
    access: 'read',
    isForNamespaces: true,
  }),
  list_resource_types: endpoint({
    method: 'GET',
    path: '/resource_types',
    summary: 'Lists types of resources.',
    reply: responseWith(Type.Array(kind)),
    access: 'read',
    isForNamespaces: true,
  }),
  show_resource_type: endpoint({
    ...ofOne,
    method: 'GET',
    path: '/resource_types/:id',
    summary: 'Returns a type of resources.',
    reply: responseWith(kind),
    access: 'read',
    isForNamespaces: true,
  }),
}
