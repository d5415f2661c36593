// The floor plan as data. A room is a folder of src/; a room that is not built yet may stand here already.
// Whoever adds a room, an inner floor or a library adds one line here and says in the commit why.

import type { HouseRules } from './inspect-house.ts'

export const houseRules: HouseRules = {
  rooms: {
    protocol: { floor: 1, pure: true },
    config: { floor: 1, pure: true },
    telemetry: { floor: 1, pure: false },
    records: { floor: 2, pure: true },
    contract: { floor: 2, pure: false },
    transports: { floor: 2, pure: false },
    core: { floor: 3, pure: true },
    access: { floor: 4, pure: false },
    backup: { floor: 4, pure: false },
    bridges: { floor: 4, pure: false },
    links: { floor: 4, pure: false },
    management: { floor: 4, pure: false },
    storage: { floor: 4, pure: false },
    rules: { floor: 4, pure: true },
    sinks: { floor: 4, pure: false },
    gateways: { floor: 4, pure: false },
    cluster: { floor: 5, pure: false },
    shard: { floor: 6, pure: false },
    node: { floor: 7, pure: false },
    cli: { floor: 8, pure: false },
    operator: { floor: 8, pure: false },
  },

  // Paths are below the room. A folder ends in a slash, a file names itself without its extension. Within one inner
  // floor imports are free (but never in a circle); `index.ts` is the door and stands above everything.
  // Each folder is a layer of its own: it imports only folders that stand before it.
  innerFloors: {
    core: [
      ['namespaces/'],
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

  // Each library is imported by one file of ours, so that a change of library is a change of one file.
  libraryOwners: {
    '@fastify/busboy': 'src/management/multipart.ts',
    '@currentspace/http3': 'src/transports/quic-library.ts',
    'classic-level': 'src/storage/level-database.ts',
    fastify: 'src/management/server.ts',
    typebox: 'src/contract/schema.ts',
    commander: 'src/cli/program.ts',
    jose: 'src/access/tokens/token-check.ts',
    pino: 'src/telemetry/json-log.ts',
    'rotating-file-stream': 'src/telemetry/rotating-file.ts',
    ws: 'src/transports/websocket-library.ts',
    pg: 'src/sinks/sql/postgresql-sink.ts',
    mysql2: 'src/sinks/sql/mysql-sink.ts',
    redis: 'src/sinks/redis/redis-sink.ts',
  },

  // `src/contract/index.ts` is for the build, which makes the table of operations of it.
  webPage: {
    folder: 'dashboard',
    entries: ['src/contract/fetch-client.ts', 'src/contract/index.ts'],
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

  longestFile: 500,
  longestFunction: 70,
  forbiddenFileNames: ['utils', 'util', 'helpers', 'helper', 'common', 'misc'],

  // This list may only shrink. `to` names the file that is imported, where the breach is an import.
  exceptions: [],
}
