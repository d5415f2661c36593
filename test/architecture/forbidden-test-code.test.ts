// Finds code of tests that makes a test fail by chance on a slow machine, or that hides other tests.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

interface ForbiddenPattern {
  readonly title: string
  readonly pattern: RegExp
  /** The reason, and what to write instead. */
  readonly remedy: string
  /** A text that the pattern matches. */
  readonly example: string
}

const forbiddenPatterns: readonly ForbiddenPattern[] = [
  {
    title: 'no test closes a port and uses it later',
    pattern: /\.address\(\)[^\n]*\n\s*\w+\.close\(/,
    remedy: 'another test may take a port that is free now: use reservePort of test/e2e/reserve-port.ts',
    example: 'const { port } = server.address() as AddressInfo\n  server.close()\n',
  },
  {
    title: 'no test compares the output of a process that still runs',
    pattern: /assert\.(?!doesNotMatch|notEqual)\w+\([^\n]*\.soFar\b/,
    remedy: 'the output of a process arrives over a pipe, later than its responses: await until(pattern)',
    example: 'assert.match(broker.process.soFar, /started/)',
  },
  {
    title: 'no test has a timeout of its own',
    pattern: /\btest\([^\n]*\{ timeout: |^ {2}\{ timeout: /m,
    remedy: 'a machine may be ten times slower: wait for the state, and stop the clock with t.mock.timers',
    example: "test('ends at once', { timeout: 3_000 }, async (t) => {",
  },
  {
    title: 'no test uses only',
    pattern: /\b(test|describe)\.only\(|\bonly: true/,
    remedy: 'files share a process, in which no other test runs then: name the test with --test-name-pattern',
    example: "describe.only('a broker', () => {",
  },
  {
    title: 'no test imports fast-check without the seed',
    pattern: /^(?![^]*export \{ fc \})[^]*from 'fast-check'/,
    remedy: 'random inputs are other ones in each run: import fc from test/properties.ts, which sets the seed',
    example: "import fc from 'fast-check'",
  },
]

const tests = fileURLToPath(new URL('../', import.meta.url))

for (const { title, pattern, remedy, example } of forbiddenPatterns) {
  test(title, () => {
    assert.match(example, pattern)
    const found = globSync('**/*.ts', { cwd: tests })
      .filter((file) => join(tests, file) !== import.meta.filename)
      .filter((file) => pattern.test(readFileSync(join(tests, file), 'utf8')))
    assert.deepEqual(found, [], remedy)
  })
}
