// Any content of a file gives a configuration, or errors that can be printed.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatConfigError, loadConfig } from '../../src/config/index.ts'
import { fc } from '../properties.ts'

describe('loading any text', () => {
  const key = fc.constantFrom(
    'mqtt',
    'listeners',
    'tcp',
    'bind',
    'log',
    'to',
    'receive_maximum',
    'auth',
    'password',
    'bridges',
    'forwards',
    'rules',
    'x',
  )
  const word = fc.string({ maxLength: 10 })
  const written = fc.constantFrom('10s', '1MB', '1883', 'none', null, true)
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.oneof(word, fc.integer(), written),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }))

  test('gives a configuration or errors, each on one line', () => {
    fc.assert(
      fc.property(fc.dictionary(key, tree, { maxKeys: 4 }), fc.array(word, { maxLength: 3 }), (object, overrides) => {
        const loaded = loadConfig({ text: JSON.stringify(object), overrides })
        if ('config' in loaded) assert.ok(loaded.config.settingTexts.size > 0)
        else for (const error of loaded.errors) assert.doesNotMatch(formatConfigError(error), /\p{Cc}/u)
      }),
      { numRuns: 500, seed: 1_883 },
    )
  })
})
