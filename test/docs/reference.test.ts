// Every alarm and every log event is documented, and the pages document nothing else. Settings are compared in
// test/config/generated.test.ts, endpoints and error codes in test/contract/documents.test.ts.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { alarmNames, alarmPrefixes } from '../../src/telemetry/alarm-names.ts'
import { findLogEvents, logEventsIn } from './log-events.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))

test('docs/LOG.md lists exactly the log events of the sources', () => {
  const events = findLogEvents(`${checkout}src`)
  assert.deepEqual(firstCellsOf('docs/LOG.md').toSorted(), [...events].toSorted())
})

test('docs/OPERATING.md lists exactly the alarms of the sources', () => {
  const documented = firstCellsOf('docs/OPERATING.md', '## Alarms').map((name) => name.replace(/<.*/, ''))
  assert.deepEqual(documented.toSorted(), [...alarmNames, ...alarmPrefixes].toSorted())
})

test('a log event is found by its call, in each form of it', () => {
  const text = `
    const event = isNew ? 'thing created' : 'thing changed'
    this.#dependencies.log.warn(event, {})
    log.info('plain event')
    this.#log?.debug('private log')
    this.#logEvent('error', 'forwarded event', 1)
    reader.error('no log')
  `
  assert.deepEqual(logEventsIn('a.ts', `class A { #log; #logEvent() {}\n m() { ${text} } }`), [
    'thing created',
    'thing changed',
    'plain event',
    'private log',
    'forwarded event',
  ])
})

/** The names in backticks at the beginning of table rows, in the whole page or in one section of it. */
function firstCellsOf(path: string, heading?: string): string[] {
  const page = readFileSync(checkout + path, 'utf8')
  const section = heading === undefined ? page : (page.split(`\n${heading}\n`)[1]?.split('\n## ')[0] ?? '')
  return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1])
}
