// Compares the regular expression engine with that of V8, which is correct but can take exponential time.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Regex } from '../../src/regex/index.ts'
import { Budget, RuleError } from '../../src/values/index.ts'
import { fc } from '../properties.ts'

const seed = 20_261_123

/** Start and end of the match and of the groups, as V8 finds them. */
function expectedCaptures(pattern: string, text: string): (number | undefined)[] | undefined {
  const found = new RegExp(pattern, 'du').exec(text)
  return found?.indices?.flatMap((pair) => (pair === undefined ? [undefined, undefined] : [...pair]))
}

function actualCaptures(pattern: string, text: string): (number | undefined)[] | undefined {
  const regex = new Regex(pattern)
  const captures = regex.exec(text, 0, new Budget())
  return captures === undefined ? undefined : Array.from({ length: 2 * regex.groups }, (_, slot) => captures[slot])
}

/** The text of the first match. */
function matches(pattern: string, text: string): string | undefined {
  const captures = new Regex(pattern).exec(text, 0, new Budget())
  return captures === undefined ? undefined : text.slice(captures[0], captures[1])
}

describe('regular expressions', () => {
  test('first match and groups are those of V8 where both have the syntax', () => {
    const cases: [pattern: string, ...texts: string[]][] = [
      ['a', 'a', 'ba', 'b', ''],
      ['', 'abc', ''],
      ['a|ab', 'ab'],
      ['(a|ab)(c|bcd)(d*)', 'abcd'],
      ['a*?b', 'aab'],
      ['(a+)(a*)', 'aaa'],
      ['(a+?)(a*)', 'aaa'],
      ['(?:ab)+', 'xababx'],
      ['a{2,3}', 'a', 'aa', 'aaaa'],
      ['a{2,3}?', 'aaaa'],
      ['a{0}b', 'ab'],
      ['^ab$', 'ab', 'xab', 'abx'],
      ['[a-c]+', 'xxabcx'],
      ['[^a-c]+', 'abxyz'],
      ['[\\d\\-x]+', 'a1-x'],
      ['\\bfoo\\b', 'foo', 'foobar', 'a foo b'],
      ['\\Bo', 'foo'],
      ['\\d{2}:\\d{2}', 'at 12:34'],
      ['(\\w+)@(\\w+)\\.com', 'mail joe@example.com!'],
      ['(?<year>\\d{4})-(?<month>\\d\\d)', '2024-05'],
      ['.', '\n', '\u{1f600}'],
      ['[\u{1f600}-\u{1f610}]', 'x\u{1f605}'],
      ['\\p{Lu}+', 'abÄÖ'],
      ['a\\.b\\*', 'a.b*'],
      ['(a)|(b)', 'b'],
    ]
    for (const [pattern, ...texts] of cases) {
      for (const text of texts)
        assert.deepEqual(actualCaptures(pattern, text), expectedCaptures(pattern, text), `${pattern} in ${text}`)
    }
  })

  test('syntax of PCRE that V8 does not have is supported', () => {
    assert.equal(matches('\\Aab\\z', 'ab'), 'ab')
    assert.equal(matches('ab$', 'ab\n'), 'ab')
    assert.equal(matches('ab\\z', 'ab\n'), undefined)
    assert.equal(matches('ab\\Z', 'ab\n'), 'ab')
    assert.equal(matches('[[:alpha:]_]+[[:^digit:]]', '1ab_;2'), 'ab_;')
    assert.equal(matches('(?i)aBc', 'xAbC'), 'AbC')
    assert.equal(matches('a(?i:b)c', 'aBc'), 'aBc')
    assert.equal(matches('a(?i:b)c', 'aBC'), undefined)
    assert.equal(matches('(?s)a.b', 'a\nb'), 'a\nb')
    assert.equal(matches('(?m)^b$', 'a\nb\nc'), 'b')
    assert.equal(matches('(?P<n>x)\\x41\\x{42}', 'xAB'), 'xAB')
    assert.equal(matches('[]a]+', ']a'), ']a')
    assert.equal(matches('a{x}', 'a{x}'), 'a{x}')
    assert.equal(matches('\\N+', 'a\nb'), 'a')
  })

  test('random patterns of a small alphabet match as in V8', () => {
    const atom = fc.constantFrom('a', 'b', 'c', '.', '[ab]', '[^a]', '\\w')
    const pattern = fc.letrec<{ node: string }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        atom,
        fc.tuple(tie('node'), tie('node')).map(([left, right]) => left + right),
        fc.tuple(tie('node'), tie('node')).map(([left, right]) => `(?:${left}|${right})`),
        tie('node').map((inner) => `(${inner})`),
        // An empty iteration has different captures in both engines, so only patterns that match a character are repeated.
        fc
          .tuple(atom, fc.constantFrom('*', '+', '?', '*?', '+?', '??', '{1,2}', '{2}'))
          .map(([inner, quantifier]) => inner + quantifier),
      ),
    })).node
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é'), maxLength: 12 })
    fc.assert(
      fc.property(pattern, text, (source, subject) => {
        assert.deepEqual(actualCaptures(source, subject), expectedCaptures(source, subject))
      }),
      { seed, numRuns: 3_000 },
    )
  })

  test('any text is a pattern or a rule error', () => {
    const character = fc.constantFrom(
      'a',
      '(',
      ')',
      '[',
      ']',
      '{',
      '}',
      '*',
      '+',
      '?',
      '\\',
      '^',
      '$',
      '|',
      '.',
      '-',
      ':',
      '1',
      ',',
      'd',
      '\u{1f600}',
    )
    fc.assert(
      fc.property(
        fc.string({ unit: character, maxLength: 30 }),
        fc.string({ unit: character, maxLength: 30 }),
        (pattern, text) => {
          try {
            new Regex(pattern).exec(text, 0, new Budget())
          } catch (error) {
            assert.ok(error instanceof RuleError, String(error))
          }
        },
      ),
      { seed, numRuns: 5_000 },
    )
  })

  test('time grows with the length of the text, not exponentially', () => {
    assert.ok(steps(2_000) < 2.2 * steps(1_000))
  })
})

/** Steps for a text that does not match. */
function steps(length: number): number {
  const budget = new Budget()
  const before = remaining(budget)
  assert.equal(new Regex('(a|aa|a?)*(a+)+b').exec('a'.repeat(length), 0, budget), undefined)
  return before - remaining(budget)
}

/** Steps that a budget still has, found by halving. */
function remaining(budget: Budget): number {
  let [low, high] = [0, 1_000_000]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (canStep(budget, middle)) low = middle
    else high = middle
  }
  return low
}

function canStep(budget: Budget, count: number): boolean {
  try {
    budget.countSteps(count)
    return true
  } catch (error) {
    assert.ok(error instanceof RuleError)
    return false
  } finally {
    budget.countSteps(-count)
  }
}
