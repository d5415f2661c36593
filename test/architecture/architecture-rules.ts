// Modules and layers as data. A module is a folder of src/; planned modules are listed as well.
// A new module, folder or library is one line here, with the reason in the commit message.

import type { ArchitectureRules } from './inspect-architecture.ts'

export const architectureRules: ArchitectureRules = {
  modules: {
    protocol: { layer: 1, pure: true },
    config: { layer: 1, pure: true },
    telemetry: { layer: 1, pure: false },
    records: { layer: 2, pure: true },
    contract: { layer: 2, pure: false },
    transports: { layer: 2, pure: false },
    core: { layer: 3, pure: true },
    'mqtt-client': { layer: 3, pure: false },
    probes: { layer: 4, pure: false },
    access: { layer: 4, pure: false },
    backup: { layer: 4, pure: false },
    bridges: { layer: 4, pure: false },
    links: { layer: 4, pure: false },
    management: { layer: 4, pure: false },
    storage: { layer: 4, pure: false },
    rules: { layer: 4, pure: true },
    sinks: { layer: 4, pure: false },
    gateways: { layer: 4, pure: false },
    cluster: { layer: 5, pure: false },
    shard: { layer: 6, pure: false },
    node: { layer: 7, pure: false },
    cli: { layer: 8, pure: false },
    operator: { layer: 8, pure: false },
  },

  // Layers within a module, lowest first. Paths are relative to the module; a folder ends in a slash, a file has no
  // extension. A layer imports only layers listed before it; `index.ts`, the entry point, imports all of them.
  innerLayers: {
    core: [
      ['namespaces/'],
      ['messages/'],
      ['model/'],
      ['topics/'],
      ['state/sessions/'],
      ['state/peers/'],
      ['state/'],
      ['outgoing/'],
      ['peers/'],
      ['queues/'],
      ['retained/'],
      ['publish/'],
      ['bridge/'],
      ['shared/'],
      ['sessions/'],
      ['memory/'],
      ['connect/'],
      ['packets/'],
      ['admin/'],
      ['peer-handlers/'],
      ['time/'],
      ['views/'],
      ['broker-core'],
    ],
    shard: [
      ['messages/'],
      ['runtime/'],
      ['observe/'],
      ['io/'],
      ['peers/'],
      ['listeners/'],
      ['store/'],
      ['queries/'],
      ['bridges/'],
      ['gateways/'],
      ['shared-with-node'],
      ['shard'],
      ['rules/'],
      ['worker'],
      ['entry'],
    ],
    node: [
      ['data-dir/'],
      ['configuration/'],
      ['listeners/'],
      ['observe/'],
      ['shards/'],
      ['records/'],
      ['admins/'],
      ['bridges/'],
      ['rules/'],
      ['gateways/'],
      ['backup/'],
      ['api/'],
      ['boot/'],
    ],
  },

  // Each library is imported by one file, so that replacing the library changes one file.
  libraryOwners: {
    '@fastify/busboy': 'src/management/http/multipart.ts',
    '@currentspace/http3': 'src/transports/quic/quic-library.ts',
    'classic-level': 'src/storage/database/level-database.ts',
    fastify: 'src/management/server.ts',
    typebox: 'src/contract/definition/schema.ts',
    commander: 'src/cli/program.ts',
    jose: 'src/access/tokens/token-check.ts',
    pino: 'src/telemetry/json-log.ts',
    'rotating-file-stream': 'src/telemetry/rotating-file.ts',
    ws: 'src/transports/websocket/websocket-library.ts',
    undici: 'src/sinks/http/http-library.ts',
    pg: 'src/sinks/sql/postgresql-sink.ts',
    mysql2: 'src/sinks/sql/mysql-sink.ts',
    kafkajs: 'src/sinks/kafka/kafka-library.ts',
    redis: 'src/sinks/redis/redis-sink.ts',
    mongodb: 'src/sinks/mongodb/mongodb-library.ts',
    amqplib: 'src/sinks/rabbitmq/rabbitmq-library.ts',
    '@nats-io/transport-node': 'src/sinks/nats/nats-library.ts',
    '@nats-io/jetstream': 'src/sinks/nats/nats-library.ts',
  },

  // The build of the dashboard imports `src/contract/index.ts` to generate the table of operations. Its WebSocket client speaks MQTT by
  // `src/protocol`, which is pure.
  webPage: {
    folder: 'dashboard',
    entries: ['src/contract/fetch-client.ts', 'src/contract/index.ts', 'src/protocol/index.ts'],
    libraries: {
      preact: ['dashboard/src/'],
      'preact/hooks': ['dashboard/src/'],
      '@preact/signals': ['dashboard/src/'],
      uplot: ['dashboard/src/parts/plot.tsx'],
      'uplot/dist/uPlot.min.css': ['dashboard/src/main.tsx'],
      esbuild: ['dashboard/build.ts'],
      'node:fs': ['dashboard/build.ts'],
      'node:path': ['dashboard/build.ts'],
      'node:url': ['dashboard/build.ts'],
      'node:zlib': ['dashboard/build.ts'],
    },
  },

  folders: {
    maxFiles: 20,
    large: {
      // One file for each subject of the API.
      'src/cli/ctl/commands': 26,
      'src/node/api': 33,
      // One file for each section of the configuration.
      'src/config/settings': 24,
    },
    circular: [],
  },

  maxFileLines: 500,
  maxFunctionLines: 70,

  // Functions with more positional parameters than the maximum: an object would be a new allocation per message or per
  // step of an interpreter, or would hide that rows form a table (ADR 0019).
  parameters: {
    max: 4,
    allowed: {
      'src/core/packets/handle-publish.ts': [
        'permissionFor',
        'canAcceptPublish',
        'acceptAtLeastOnce',
        'acceptExactlyOnce',
      ],
      'src/core/publish/authorize-publish.ts': ['authorizePublish'],
      'src/core/publish/route-message.ts': ['routeMessage', 'routeToPeers'],
      'src/core/queues/enqueue-for-session.ts': ['sendFirst', 'transmit'],
      'src/core/queues/persistent-queue.ts': ['storeDelivery'],
      'src/protocol/packets/read-publish.ts': ['readPublish'],
      'src/protocol/packets/write-publish.ts': ['copyBytes'],
      'src/protocol/properties/property-table.ts': ['rule'],
      'src/transports/dtls/cipher-suites.ts': ['suite'],
      'src/rules/jq/evaluate-jq.ts': 'all',
      'src/rules/jq/jq-combinations.ts': ['bindPattern', 'product'],
      'src/rules/jq/jq-regex.ts': ['substitute'],
      'src/rules/values/access.ts': ['write'],
    },
  },

  // Files with functions that take the whole state of the core, because a message can be published through them
  // (ADR 0020). All others take the parts that they use.
  wholeState: {
    type: 'BrokerState',
    files: [
      'src/core/admin/admin-publish.ts',
      'src/core/admin/delete-namespace-data.ts',
      'src/core/admin/handle-command.ts',
      'src/core/broker-core.ts',
      'src/core/connect/accept-connect.ts',
      'src/core/connect/authorize-subscribe.ts',
      'src/core/connect/close-connection.ts',
      'src/core/connect/follow-address.ts',
      'src/core/connect/open-connection.ts',
      'src/core/memory/memory-relief.ts',
      'src/core/packets/handle-acks.ts',
      'src/core/packets/handle-auth.ts',
      'src/core/packets/handle-connect.ts',
      'src/core/packets/handle-disconnect.ts',
      'src/core/packets/handle-packet.ts',
      'src/core/packets/handle-permissions.ts',
      'src/core/packets/handle-publish.ts',
      'src/core/packets/handle-subscribe.ts',
      'src/core/packets/resolve-topic.ts',
      'src/core/peer-handlers/handle-exclusive.ts',
      'src/core/peer-handlers/handle-peer-commit.ts',
      'src/core/peer-handlers/handle-peer.ts',
      'src/core/publish/route-message.ts',
      'src/core/publish/run-rules.ts',
      'src/core/sessions/end-session.ts',
      'src/core/sessions/publish-will.ts',
      'src/core/time/handle-tick.ts',
    ],
    callbacks: ['route', 'accept'],
  },

  forbiddenFileNames: ['utils', 'util', 'helpers', 'helper', 'common', 'misc'],

  // This list may only shrink. `to` is the imported file, if the violation is an import.
  exceptions: [],
}
