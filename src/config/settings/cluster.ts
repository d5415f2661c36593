// cluster: several nodes that share the stored sessions.

import { listOf } from '../schema/collections.ts'
import { bind } from '../schema/bind.ts'
import { path } from '../schema/path-type.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, integer, optional, text } from '../schema/setting-type.ts'

const file = optional(path('working-directory'), 'none')
const clusterName = text({ maxBytes: 64, form: { pattern: /^[A-Za-z0-9_.-]{1,64}$/, name: 'a name such as plant' } })
const secret = text({ maxBytes: 255, form: { pattern: /^.{16,}$/, name: 'at least 16 characters' } })

export const cluster = section('A cluster: several nodes that share the stored sessions. See docs/CLUSTER.md.', {
  enable: setting(boolean, false, {
    field: 'isEnabled',
    description: 'Whether this node is part of a cluster. Its stored shards then have numbers within the cluster.',
  }),
  name: setting(clusterName, 'godwit', {
    field: 'name',
    description: 'Name of the cluster, the same on all nodes. Connections of nodes of another cluster are refused.',
  }),
  listen: setting(
    bind,
    { host: '127.0.0.1', port: 7880 },
    {
      description:
        'Address and port for data connections of other nodes. Heartbeats use the next port of the same address. No client connects here.',
    },
  ),
  advertise: setting(optional(bind, 'auto'), undefined, {
    description:
      'Address and port by which other nodes reach cluster.listen. The next port must lead to their heartbeats.',
    defaultWords: 'the address of cluster.listen',
  }),
  secret: setting(optional(secret, 'none'), undefined, {
    field: 'secret',
    description:
      'Shared secret with which nodes authenticate each other, at least 16 characters. It is never sent. Without cluster.tls the connections are not encrypted, and the node warns.',
    isSecret: true,
  }),
  tls: section('Certificates with which nodes authenticate each other, with TLS 1.3.', {
    cacertfile: setting(file, undefined, {
      field: 'caFile',
      description:
        'PEM file of the authority that signs the certificates of all nodes. A node without such a certificate is refused.',
    }),
    certfile: setting(file, undefined, {
      field: 'certFile',
      description: 'PEM file of the certificate of this node. It names the host of cluster.advertise.',
    }),
    keyfile: setting(file, undefined, { field: 'keyFile', description: 'PEM file of its key.' }),
    key_password: setting(optional(text(), 'none'), undefined, {
      field: 'keyPassword',
      description: 'Password of cluster.tls.keyfile, if it is encrypted.',
      isSecret: true,
    }),
  }),
  stores: setting(listOf(text({ maxBytes: 4_096 }), 16), [], {
    field: 'stores',
    description:
      'PostgreSQL databases of the stored shards, the same on all nodes: "postgres://user:password@db1:5432,db2:5432/godwit". Several hosts are the members of one replicated database. Stored shard i uses number i modulo the length of the list.',
    isSecret: true,
  }),
  store_is_replicated: setting(boolean, false, {
    field: 'storeIsReplicated',
    description:
      'Whether the service below PostgreSQL replicates what is written. Otherwise each database must have a synchronous standby.',
  }),
  shards: setting(integer({ min: 1, max: 250 }), 12, {
    field: 'shards',
    description:
      'Number of stored shards of the cluster, the same on all nodes. It is fixed when the cluster is created. node.shards has no effect on them.',
  }),
})
