// The floor plan as data. A room is a folder of src/; a room that is not built yet may stand here already.
// Whoever adds a room, an inner floor or a library adds one line here and says in the commit why.

import type { HouseRules } from './inspect-house.ts'

export const houseRules: HouseRules = {
  rooms: {
    protocol: { floor: 1, pure: true },
    config: { floor: 1, pure: true },
    telemetry: { floor: 1, pure: false },
    core: { floor: 2, pure: true },
    contract: { floor: 2, pure: false },
    transports: { floor: 2, pure: false },
    access: { floor: 3, pure: false },
    storage: { floor: 3, pure: false },
    links: { floor: 3, pure: false },
    backup: { floor: 3, pure: false },
    bridges: { floor: 3, pure: false },
    rules: { floor: 3, pure: true },
    gateways: { floor: 3, pure: false },
    management: { floor: 3, pure: false },
    shard: { floor: 4, pure: false },
    node: { floor: 5, pure: false },
    cli: { floor: 6, pure: false },
    operator: { floor: 6, pure: false },
  },

  // Paths are below the room. A folder ends in a slash, a file names itself without its extension. Within one inner
  // floor imports are free (but never in a circle); `index.ts` is the door and stands above everything.
  innerFloors: {
    core: [
      [
        'memory-account',
        'message',
        'message-size',
        'stored-retained',
        'access',
        'access-records',
        'bridge-client',
        'client-filters',
        'operator-records',
        'peer-messages',
        'peer-send-list',
        'connection',
        'held-answer',
        'vow',
        'mountpoint',
        'namespaced-names',
        'reserved-names',
        'namespace-quotas',
        'namespaces',
        'verdict-cache',
        'rate-meter',
        'inputs',
        'outputs',
        'retained',
        'records',
        'settings',
        'send-list',
        'deadlines',
        'slabs',
        'body-counts',
        'moved-messages',
        'assert',
        'topics/',
      ],
      ['sessions/', 'neighbours/', 'batches', 'broker-state'],
      ['delivery/'],
      ['connections/', 'peers/', 'time/', 'views/'],
      ['broker-core'],
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
  },

  longestFile: 500,
  longestFunction: 70,
  forbiddenFileNames: ['utils', 'util', 'helpers', 'helper', 'common', 'misc'],

  // This list may only shrink. `to` names the file that is imported, where the breach is an import.
  exceptions: [],
}
