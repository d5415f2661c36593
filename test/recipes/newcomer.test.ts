// Follows the recipes literally in a copy of the checkout, as someone does who changes the broker for the first time: a setting of the
// core, a metric, and an endpoint with its command.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CheckoutCopy } from './checkout-copy.ts'

describe('a newcomer who follows the recipes', () => {
  const copy = new CheckoutCopy()

  test('adds a setting of the core in its section, and reads it in the core', () => {
    const recipe = copy.read('docs/recipes/setting.md')
    assert.match(recipe, /`setting\(type, default, \{ description, appliesOn \}\)`/)
    copy.insertBefore(
      'src/config/settings/mqtt.ts',
      '  max_awaiting_rel: setting(',
      `  max_user_properties: setting(integer({ min: 0, max: max16Bits }), 1_000, {
    field: 'maxUserProperties',
    description:
      'Maximum number of user properties of one packet. A client that sends more is disconnected with reason code 0x97.',
    appliesOn: 'at-once',
  }),
`,
    )
    assert.match(recipe, /the entry names the field of the module's settings: `field: 'maxTopicLevels'`/)
    copy.insertBefore(
      'src/core/packets/handle-packet.ts',
      "  switch (packet.type) {\n    case 'publish':\n      return handlePublish(",
      `  const { userProperties = [] } = ('properties' in packet ? packet.properties : undefined) ?? {}
  const { maxUserProperties } = state.settings
  if (userProperties.length > maxUserProperties) {
    const text = \`\${userProperties.length} user properties in one packet; maximum \${maxUserProperties}\`
    return endConnection(state, connection, { reason: reasonCodes.quotaExceeded, text, publishWill: true })
  }
`,
    )
    assert.deepEqual(copy.changedFiles('src'), ['src/config/settings/mqtt.ts', 'src/core/packets/handle-packet.ts'])
  })

  test('adds a counter, and increases it where it happens', () => {
    const recipe = copy.read('docs/recipes/metric.md')
    assert.match(recipe, /Add a line to `src\/telemetry\/counters\.ts`/)
    copy.insertBefore(
      'src/telemetry/counters.ts',
      '} as const satisfies Record<string, CounterDefinition>',
      `  clientsDisconnected: {
    metric: 'godwit_clients_disconnected_total',
    type: 'counter',
    help: 'Ended connections of accepted clients.',
  },
`,
    )
    assert.match(recipe, /Increase it where it happens with `counters\.add\(\)`/)
    copy.insertBefore(
      'src/shard/observe/event-log.ts',
      "        return log.info('client disconnected', {",
      '        this.#counters.add(counterCells.clientsDisconnected, 1)\n',
    )
    const changed = copy.changedFiles('src').filter((file) => !/config|core/.test(file))
    assert.deepEqual(changed, ['src/shard/observe/event-log.ts', 'src/telemetry/counters.ts'])
  })

  test('adds an endpoint in the folder of its subject, and a command', () => {
    const recipe = copy.read('docs/recipes/endpoint.md')
    assert.match(recipe, /Define it in `endpoints\.ts` of its subject/)
    copy.write(
      'src/api/inflight/endpoints.ts',
      `// Messages that were sent to a client and are not acknowledged.

import { endpoint, Type } from '../../contract/index.ts'

const message = Type.Object({
  topic: Type.Union([Type.String(), Type.Null()], { description: 'Topic; null: unknown after a restart.' }),
  qos: Type.Integer({ minimum: 1, maximum: 2 }),
})

export const inflightEndpoints = {
  get_inflight: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/mqtt/inflight/:clientid',
    summary: 'Lists the messages that were sent to a client and are not acknowledged.',
    params: Type.Object({ clientid: Type.String() }),
    reply: Type.Array(message),
    reasons: ['CLIENT_NOT_FOUND'],
    access: 'read',
    isForNamespaces: true,
  }),
}
`,
    )
    assert.match(recipe, /Add the handler with the same name to the file of the subject/)
    copy.write(
      'src/api/inflight/inflight.ts',
      `// Messages that were sent to a client and are not acknowledged. They are in memory.

import { computeOwnerShard } from '../../core/index.ts'
import { type Handlers, refuseFor } from '../../management/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { inflightEndpoints } from './endpoints.ts'

const maxInflight = 65_535

export function createInflightHandlers({
  supervisor,
  names,
}: Pick<ApiContext, 'supervisor' | 'names'>): Handlers<typeof inflightEndpoints> {
  return {
    get_inflight: async ({ params }) => {
      const clientId = names.toSessionName(params.clientid)
      const query = { kind: 'client-queue', clientId, limit: maxInflight } as const
      const found = await supervisor.query(computeOwnerShard(clientId, supervisor.size), query)
      if (found === undefined) return refuseFor('SERVICE_UNAVAILABLE', 'the shard of this client is restarting: retry')
      if (found === null) return refuseFor('CLIENT_NOT_FOUND', 'there is no such client')
      return found.inMemory
        .filter(({ state }) => state !== 'waiting')
        .map(({ topic, qos }) => ({ topic: topic === undefined ? null : names.unmountTopic(topic), qos }))
    },
  }
}
`,
    )
    assert.match(recipe, /one line in each of `src\/api\/endpoints\.ts` and\s+`src\/api\/handlers\.ts`/)
    const liveImport = 'import { liveEndpoints }'
    copy.insertBefore(
      'src/api/endpoints.ts',
      liveImport,
      "import { inflightEndpoints } from './inflight/endpoints.ts'\n",
    )
    copy.insertBefore('src/api/endpoints.ts', '  ...liveEndpoints,', '  ...inflightEndpoints,\n')
    const liveHandlers = 'import { createLiveHandlers }'
    copy.insertBefore(
      'src/api/handlers.ts',
      liveHandlers,
      "import { createInflightHandlers } from './inflight/inflight.ts'\n",
    )
    copy.insertBefore(
      'src/api/handlers.ts',
      '    ...createLiveHandlers(live),',
      '    ...createInflightHandlers(context),\n',
    )
    assert.match(recipe, /Add the command to `src\/cli\/ctl\/commands\/`/)
    copy.insertBefore(
      'src/cli/ctl/commands/diagnostics-commands.ts',
      "  {\n    name: 'clients queue',",
      `  {
    name: 'clients inflight',
    description: 'list the messages that were sent to a client and are not acknowledged',
    arguments: ['<client>'],
    run: ({ client, operands: [clientid = ''] }) =>
      showReply(client.get_inflight({ params: { clientid } }), (rows) => ({ rows, columns: ['qos', 'topic'] })),
  },
`,
    )
    const changed = copy.changedFiles('src').filter((file) => /^src\/(api|cli)\//.test(file))
    assert.deepEqual(changed, [
      'src/api/endpoints.ts',
      'src/api/handlers.ts',
      'src/api/inflight/endpoints.ts',
      'src/api/inflight/inflight.ts',
      'src/cli/ctl/commands/diagnostics-commands.ts',
    ])
  })

  test('generates the reference pages and the example file', () => {
    assert.match(
      copy.read('docs/recipes/setting.md'),
      /`npm run generate` writes the reference page and the example file/,
    )
    copy.run('node', ['test/generate.ts'])
    assert.deepEqual(copy.changedFiles('docs'), ['docs/CONFIGURATION.md', 'docs/errors.md', 'docs/openapi.json'])
    assert.match(copy.read('docs/CONFIGURATION.md'), /max_user_properties/)
    assert.match(copy.read('etc/godwit.conf'), /max_user_properties/)
    assert.match(copy.read('docs/openapi.json'), /mqtt\/inflight/)
  })

  test('passes the type check, and the tests that the recipes name', () => {
    copy.run('node_modules/.bin/tsc', ['--noEmit'])
    const named = [
      'test/config/generated.test.ts',
      'test/config/differences.test.ts',
      'test/contract/documents.test.ts',
    ]
    const recipes = `${copy.read('docs/recipes/setting.md')}${copy.read('docs/recipes/endpoint.md')}`
    for (const file of named) assert.ok(recipes.includes(file), file)
    assert.match(copy.run('node', ['--test', ...named]), /^ℹ fail 0$/m)
  })

  test('finds all of them in the built broker', () => {
    copy.run('node', ['release/bundle.ts'])
    assert.match(copy.run('node', ['--test', 'test/recipes/newcomer-effects.ts']), /^ℹ pass 2$/m)
  })
})
