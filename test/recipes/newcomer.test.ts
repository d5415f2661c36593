// Follows the recipes literally in a copy of the checkout, as someone does who changes the broker for the first time: a setting of the
// core, and a metric.

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

  test('generates the reference page and the example file', () => {
    assert.match(
      copy.read('docs/recipes/setting.md'),
      /`npm run generate` writes the reference page and the example file/,
    )
    copy.run('node', ['test/generate.ts'])
    assert.deepEqual(copy.changedFiles('docs'), ['docs/CONFIGURATION.md'])
    assert.match(copy.read('docs/CONFIGURATION.md'), /max_user_properties/)
    assert.match(copy.read('etc/godwit.conf'), /max_user_properties/)
  })

  test('passes the type check, and the tests that the recipes name', () => {
    copy.run('node_modules/.bin/tsc', ['--noEmit'])
    const named = ['test/config/generated.test.ts', 'test/config/differences.test.ts']
    for (const file of named) assert.ok(copy.read('docs/recipes/setting.md').includes(file), file)
    assert.match(copy.run('node', ['--test', ...named]), /^ℹ fail 0$/m)
  })

  test('finds both in the built broker', () => {
    copy.run('node', ['release/bundle.ts'])
    assert.match(copy.run('node', ['--test', 'test/recipes/newcomer-effects.ts']), /^ℹ pass 1$/m)
  })
})
