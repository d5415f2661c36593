import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { anyCharacter, fc } from '../properties.ts'

import {
  formatConfigError,
  hoconLimits,
  parseHocon,
  toPlain,
  type HoconOptions,
  type PlainValue,
} from '../../src/config/index.ts'
import { environment, errorCases, includedFiles, meaningCases } from './hocon-cases.ts'

const options: HoconOptions = {
  file: 'test.conf',
  environment,
  readInclude: (path) => {
    const text = includedFiles[path]
    return text === undefined ? { error: 'there is no such file' } : { text }
  },
}

function meaningOf(text: string, given: HoconOptions = options): PlainValue {
  const parsed = parseHocon(text, given)
  if ('errors' in parsed) assert.fail(parsed.errors.map(formatConfigError).join('\n'))
  return toPlain(parsed.value)
}

function errorsOf(text: string, given: HoconOptions = options): readonly string[] {
  const parsed = parseHocon(text, given)
  return 'errors' in parsed ? parsed.errors.map(formatConfigError) : []
}

/** The objects of the reader have no prototype; those of the table have one. */
function withPrototypes(value: PlainValue): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('HOCON text', () => {
  for (const { name, text, value } of meaningCases) {
    test(name, () => assert.deepEqual(withPrototypes(meaningOf(text)), value))
  }
})

describe('an error with its position is reported for', () => {
  for (const { name, text, errors } of errorCases) {
    test(name, () => {
      const texts = errorsOf(text)
      assert.equal(texts.length, errors.length, texts.join('\n'))
      for (const [index, beginning] of errors.entries()) {
        assert.ok(texts[index].startsWith(beginning), `${texts[index]}\ninstead of\n${beginning}`)
      }
    })
  }
})

describe('for any text', () => {
  const words = [
    'a',
    'b.c',
    '=',
    ':',
    '+=',
    '{',
    '}',
    '[',
    ']',
    ',',
    '\n',
    ' ',
    '"',
    '"""',
    '${',
    '${?',
    '${a}',
    '${?b.c}',
    '#',
    '//',
  ]
  const rare = [
    'include ',
    'include "users.conf"',
    'include "circle.conf"',
    '\\',
    '\\u00',
    '1',
    '1.5',
    'true',
    'null',
    '\0',
    '\t',
    '😀',
    '\uD800',
  ]
  const scrambled = fc.array(fc.constantFrom(...words, ...rare), { maxLength: 40 }).map((parts) => parts.join(''))

  test('the reader returns a value or errors, and throws nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), scrambled), (text) => {
        const parsed = parseHocon(text, options)
        assert.ok('value' in parsed || parsed.errors.length > 0)
      }),
      { numRuns: 2_000, seed: 1_883 },
    )
  })

  test('JSON has its standard meaning', () => {
    // U+FFFD replaces bytes that are not UTF-8; a text that contains it must write it as an escape.
    const word = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\uFFFD', '?'))
    const key = fc.string().filter((name) => !['__proto__', 'constructor', 'prototype'].includes(name))
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        word,
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value')),
        fc.dictionary(key, tie('value')),
      ),
    }))
    fc.assert(
      fc.property(fc.dictionary(key, value), fc.boolean(), (object, isIndented) => {
        const text = JSON.stringify(object, undefined, isIndented ? 2 : undefined)
        assert.deepEqual(withPrototypes(meaningOf(text)), JSON.parse(text))
      }),
      { numRuns: 500, seed: 1_883 },
    )
  })

  test('a file that is truncated anywhere does not break the reader', () => {
    const text = meaningCases.map((example) => example.text).join('\n')
    for (let length = 0; length < text.length; length += 7) {
      const parsed = parseHocon(text.slice(0, length), options)
      assert.ok('value' in parsed || parsed.errors.length > 0)
    }
  })
})

function refused(text: string, reason: RegExp, given = options): void {
  const [first] = errorsOf(text, given)
  assert.match(first ?? 'no error', reason)
}

describe('a text that exceeds a limit is refused', () => {
  test('ten megabytes of text', () => refused(`a = "${'x'.repeat(10_000_000)}"`, /longer than 1048576 characters/))

  test('thousands of nested braces and brackets', () => {
    refused('a{'.repeat(100_000), /nested more than 64 levels deep/)
    refused(`a = ${'['.repeat(100_000)}`, /nested more than 64 levels deep/)
    refused(`${'a.'.repeat(100_000)}a = 1`, /nested more than 64 levels deep/)
    refused(`a = \${${'a.'.repeat(1_000)}a}`, /nested more than 64 levels deep/)
  })

  test('but the maximum nesting is read', () => {
    const depth = hoconLimits.maxDepth / 2
    assert.deepEqual(errorsOf(`${'a{'.repeat(depth)}${'}'.repeat(depth)}`), [])
    assert.notDeepEqual(errorsOf(`${'a{'.repeat(depth + 1)}${'}'.repeat(depth + 1)}`), [])
  })

  test('more values than the limit', () => refused(`a = [${'1,'.repeat(200_000)}]`, /more than 100000 values/))

  test('a list that is doubled repeatedly', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `a${index + 1} = [\${a${index}}, \${a${index}}]`)
    refused(`a0 = x\n${lines.join('\n')}`, /expand to far more than was written/)
  })

  test('an object that is doubled repeatedly', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `a${index + 1} { x = \${a${index}}, y = \${a${index}} }`)
    refused(`a0 = x\n${lines.join('\n')}`, /expand to far more than was written/)
  })

  test('a string that is doubled repeatedly', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `a${index + 1} = \${a${index}}\${a${index}}`)
    refused(
      `a0 = "some text to begin with, long enough to grow"\n${lines.join('\n')}`,
      /expand to far more|come to more than/,
    )
  })

  test('paths that are doubled through other settings', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `a${index + 1} = \${a${index}} \${a${index}}`)
    refused(`a0 { x = 1 }\n${lines.join('\n')}\nb = \${a40.none}`, /expand to far more than was written/)
  })

  test('a very long chain of substitutions', () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => `a${index + 1} = \${a${index}}`)
    refused(`a0 = x\n${lines.toReversed().join('\n')}`, /follow each other more than 256 steps/)
  })

  test('a value that refers to itself and grows', () => {
    refused(`a = x\n${'a = ${a}y\n'.repeat(5_000)}`, /expand to far more|follow each other/)
  })

  test('but a long list can be extended item by item', () => {
    const value = meaningOf(`a = []\n${'a += x\n'.repeat(20_000)}`) as { a: readonly string[] }
    assert.equal(value.a.length, 20_000)
  })

  test('files that include each other', () => {
    const file = 'test.conf'
    refused('include "a"', /include each other more than 10 deep/, {
      file,
      readInclude: (path) => ({ text: `include "${path}x"` }),
    })
  })

  test('many includes, of many files or of large ones', () => {
    const text = `a = "${'x'.repeat(100_000)}"`
    const large = { file: 'test.conf', readInclude: () => ({ text }) }
    refused('include "a"\n'.repeat(65), /longer than 1048576 characters/, large)
    refused('include "empty.conf"\n'.repeat(65), /more than 64 files are included/)
  })

  test('more errors than the limit of the report', () => {
    assert.equal(errorsOf('a = $\n'.repeat(10_000)).length, hoconLimits.maxErrors)
  })
})

describe('a text from an untrusted source', () => {
  test('can read environment variables only if the caller passes them', () => {
    const sent = parseHocon('a = ${?SECRET}', { file: 'sent' })
    assert.ok('value' in sent)
    assert.equal(sent.value.entries.size, 0)
    assert.match(errorsOf('a = ${SECRET}', { file: 'sent' })[0], /is not set anywhere/)
  })

  test('reads only strings from the environment', () => {
    const broken = { file: 'sent', environment: { BAD: '\uD800', toString: 'fine' } }
    assert.deepEqual(withPrototypes(meaningOf('a = ${?BAD}\nb = ${toString}', broken)), { b: 'fine' })
  })

  test('can include files only if the caller passes a reader', () => {
    assert.match(errorsOf('include file("/etc/shadow")', { file: 'sent' })[0], /files cannot be included here/)
  })

  test('gets errors of included files without their content', () => {
    const texts = errorsOf('include "broken.conf"').join('\n')
    assert.ok(!texts.includes('salt'), texts)
  })

  test('does not change the prototypes of objects', () => {
    parseHocon('{"__proto__": {"polluted": 1}, "a": {"constructor": {"prototype": {"polluted": 1}}}}', { file: 'sent' })
    assert.equal(({} as { polluted?: number }).polluted, undefined)
  })

  test('is printed in errors on one line, without control characters for a terminal', () => {
    const [texts] = errorsOf('"x\\u001b[2Jy\\nz\\u202e" = $')
    assert.match(texts, /^test\.conf:1:\d+: x\\u\{1b\}\[2Jy\\u\{a\}z\\u\{202e\}: /)
  })
})
