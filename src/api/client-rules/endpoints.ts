// Stored access rules and bans. Both apply at once, also to connected clients.

import { responseWith, noContent, endpoint, pageOf, pageQuery, type TSchema, Type } from '../../contract/index.ts'

const topic = Type.String({
  description:
    'Topic filter. `${clientid}` and `${username}` are replaced. After a leading `@`, the text is compared literally.',
})
const action = Type.Union([Type.Literal('pub'), Type.Literal('sub'), Type.Literal('pubsub')])
const access = Type.Union([Type.Literal('allow'), Type.Literal('deny')])
const rule = { topic, action, access }

const byClientId = Type.Object({ clientid: Type.String(), ...rule })
const byUsername = Type.Object({ username: Type.String(), ...rule })
const forAll = Type.Object({ all: Type.Literal('$all'), ...rule })

const ruleResult = Type.Object({
  clientid: Type.Optional(Type.String()),
  username: Type.Optional(Type.String()),
  all: Type.Optional(Type.Literal('$all')),
  topic: Type.Optional(Type.String()),
  action: Type.Optional(Type.String()),
  access: Type.Optional(Type.String()),
  result: Type.String({ description: '`ok`, or the error of this rule as `{error,topic}`.' }),
})

const filter = Type.Optional(Type.String({ description: 'Only entries with exactly this value.' }))
const substring = Type.Optional(Type.String({ description: 'Only entries that contain this text.' }))
const ruleFilters = { topic: filter, action: Type.Optional(action), access: Type.Optional(access), ...pageQuery }

const newRule = Type.Object({
  clientid: Type.Optional(
    Type.String({ description: 'Client ID that the rule applies to; with neither this nor username: all clients.' }),
  ),
  username: Type.Optional(Type.String()),
  ...rule,
})

function defineRemoval<Params extends Readonly<Record<string, TSchema>>>(path: string, params: Params) {
  return endpoint({
    method: 'DELETE',
    path,
    summary: 'Deletes the stored rules of this topic filter, for all actions.',
    params: Type.Object({ ...params, topic: Type.String() }),
    reply: noContent,
    failures: ['invalidParameter'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
    isForNamespaces: true,
  })
}

const ban = Type.Object({
  who: Type.String(),
  as: Type.Union([Type.Literal('clientid'), Type.Literal('username'), Type.Literal('peerhost')]),
  reason: Type.String(),
  by: Type.String(),
  at: Type.Integer({ description: 'Start of the ban, in seconds since 1970.' }),
  until: Type.Union([Type.Integer(), Type.Null()], {
    description: 'End of the ban, in seconds since 1970; null: the ban does not end.',
  }),
})

const newBan = Type.Object({
  who: Type.String({
    minLength: 1,
    maxLength: 65_535,
    description: 'Banned client ID, user name, address or range of addresses.',
  }),
  as: Type.Union([Type.Literal('clientid'), Type.Literal('username'), Type.Literal('peerhost')]),
  reason: Type.Optional(Type.String({ maxLength: 1_024 })),
  by: Type.Optional(
    Type.String({ maxLength: 1_024, description: 'Name of the account that created the ban. Default: `user`.' }),
  ),
  at: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 8_640_000_000_000,
      description: 'Start of the ban, in seconds since 1970. Default: now.',
    }),
  ),
  until: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0, maximum: 8_640_000_000_000 }), Type.Null()], {
      description: 'End of the ban, in seconds since 1970; null: the ban does not end. Default: in five minutes.',
    }),
  ),
})

export const clientRuleEndpoints = {
  list_acl_clientid: endpoint({
    method: 'GET',
    path: '/acl/clientid',
    summary: 'Lists the stored rules of client IDs, in the order in which they are checked.',
    query: Type.Object({ clientid: filter, _like_clientid: substring, ...ruleFilters }),
    reply: pageOf(byClientId),
    failures: ['invalidParameter'],
    access: 'read',
    isForNamespaces: true,
  }),
  lookup_acl_clientid: endpoint({
    method: 'GET',
    path: '/acl/clientid/:clientid',
    summary: 'Lists the stored rules of a client ID.',
    params: Type.Object({ clientid: Type.String() }),
    reply: responseWith(Type.Array(byClientId)),
    access: 'read',
    isForNamespaces: true,
  }),
  delete_acl_clientid: defineRemoval('/acl/clientid/:clientid/topic/:topic', { clientid: Type.String() }),
  list_acl_username: endpoint({
    method: 'GET',
    path: '/acl/username',
    summary: 'Lists the stored rules of user names, in the order in which they are checked.',
    query: Type.Object({ username: filter, _like_username: substring, ...ruleFilters }),
    reply: pageOf(byUsername),
    failures: ['invalidParameter'],
    access: 'read',
    isForNamespaces: true,
  }),
  lookup_acl_username: endpoint({
    method: 'GET',
    path: '/acl/username/:username',
    summary: 'Lists the stored rules of a user name.',
    params: Type.Object({ username: Type.String() }),
    reply: responseWith(Type.Array(byUsername)),
    access: 'read',
    isForNamespaces: true,
  }),
  delete_acl_username: defineRemoval('/acl/username/:username/topic/:topic', { username: Type.String() }),
  list_acl_all: endpoint({
    method: 'GET',
    path: '/acl/$all',
    summary: 'Lists the stored rules for all clients, in the order in which they are checked.',
    query: Type.Object(ruleFilters),
    reply: pageOf(forAll),
    failures: ['invalidParameter'],
    access: 'read',
    isForNamespaces: true,
  }),
  delete_acl_all: defineRemoval('/acl/$all/topic/:topic', {}),
  create_acl: endpoint({
    method: 'POST',
    path: '/acl',
    summary:
      'Stores a rule, or the rules of an array in their order. An existing rule gets the new access and keeps its position.',
    body: Type.Union([newRule, Type.Array(newRule)]),
    bodyCheckedBy: 'handler',
    reply: responseWith(Type.Union([ruleResult, Type.Array(ruleResult)])),
    failures: ['missingParameter', 'invalidParameter', 'notJson', 'invalidTopic'],
    access: 'change',
    isForNamespaces: true,
  }),
  list_banned: endpoint({
    method: 'GET',
    path: '/banned',
    summary: 'Lists the bans, newest first.',
    query: Type.Object({ who: filter, as: Type.Optional(newBan.properties.as), ...pageQuery }),
    reply: pageOf(ban),
    failures: ['invalidParameter'],
    access: 'read',
    isForNamespaces: true,
  }),
  create_banned: endpoint({
    method: 'POST',
    path: '/banned',
    summary: 'Bans clients. Connected clients to which the ban applies are disconnected at once.',
    body: newBan,
    reply: responseWith(ban),
    failures: ['missingParameter', 'invalidParameter', 'notJson'],
    access: 'change',
    isForNamespaces: true,
  }),
  delete_banned: endpoint({
    method: 'DELETE',
    path: '/banned/:as/:who',
    summary: 'Deletes a ban. The clients can connect again.',
    params: Type.Object({ as: Type.String(), who: Type.String() }),
    reply: noContent,
    failures: ['invalidParameter'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
    isForNamespaces: true,
  }),
}
