import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printOutcome } from '../../src/cli/ctl/print-outcome.ts'
import type { Outcome } from '../../src/cli/ctl/ctl-command.ts'
import { Terminal, shouldUseColors } from '../../src/cli/terminal/terminal.ts'

function printed(
  outcome: Outcome,
  { isTTY = false, asJson = false } = {},
): { text: string; errors: string; code: number } {
  let text = ''
  let errors = ''
  const output = { isTTY, write: (more: string) => (text += more) }
  const code = printOutcome(outcome, new Terminal(output, { write: (more) => (errors += more) }), asJson)
  return { text, errors, code }
}

const rows = [
  { clientid: 'a', qos: 1, more: true },
  { clientid: 'godwit', qos: 0 },
]

test('on a terminal, a list is a table of the most important columns, with a heading', () => {
  const { text } = printed({ rows, columns: ['clientid', 'qos'] }, { isTTY: true })
  assert.equal(text, 'clientid  qos\na         1\ngodwit    0\n')
  assert.equal(printed({ rows: [] }, { isTTY: true }).text, 'none\n')
})

test('a table fits the terminal, and its heading is bold if the terminal has colours', () => {
  const long = { clientid: 'a'.repeat(60), topic: 'b'.repeat(30), qos: 1 }
  const print = (columns: number, usesColors: boolean): string => {
    let text = ''
    const output = { isTTY: true, columns, write: (more: string) => (text += more) }
    printOutcome({ rows: [long] }, new Terminal(output, output, undefined, usesColors), false)
    return text
  }
  const [heading = '', row = ''] = print(40, false).split('\n')
  assert.ok(heading.length <= 40 && row.length <= 40, row)
  assert.match(row, /^a+… {2}b+… {2}1$/)
  assert.ok(print(200, false).includes(long.clientid))
  assert.ok(print(200, true).startsWith('\u001b[1mclientid '))
  assert.ok(print(200, true).includes('qos\u001b[0m\na'))
  assert.equal(shouldUseColors({ isTTY: true, write: () => {} }, {}), true)
  assert.equal(shouldUseColors({ isTTY: true, write: () => {} }, { NO_COLOR: '1' }), false)
  assert.equal(shouldUseColors({ write: () => {} }, {}), false)
})

test('without a terminal, a list is printed as lines with tabs, and an empty list as no line', () => {
  assert.equal(printed({ rows, columns: ['clientid', 'qos'] }).text, 'a\t1\ngodwit\t0\n')
  assert.equal(printed({ rows: [] }).text, '')
})

test('with --json, all fields are printed as one document', () => {
  assert.deepEqual(JSON.parse(printed({ rows, columns: ['qos'] }, { asJson: true }).text), rows)
  assert.deepEqual(JSON.parse(printed({ done: 'kicked' }, { asJson: true }).text), { done: 'kicked' })
})

test('a name chosen by a client cannot move the cursor or start a line', () => {
  const { text } = printed({ rows: [{ clientid: 'a\u001b[2J\nb\tc\u202e' }] })
  assert.equal(text, 'a\\u001b[2J\\u000ab\\u0009c\\u202e\n')
  const failure = { kind: 'refused', code: 112, status: 404, message: 'x\ny' } as const
  assert.deepEqual(printed({ failure }), { text: '', errors: 'godwit: x\\u000ay (code 112)\n', code: 1 })
})

test('each error of a configuration is printed on its own line', () => {
  const failure = { kind: 'refused', code: 108, status: 400, message: 'a: x\nb: \u001b' } as const
  const { errors } = printed({ failure, hasLines: true })
  assert.equal(errors, 'godwit: a: x\ngodwit: b: \\u001b (code 108)\n')
})

test('the exit code is 2 for wrong usage, 1 for a failure and 0 for success', () => {
  assert.equal(printed({ usage: 'no' }).code, 2)
  assert.equal(printed({ problem: 'no' }).code, 1)
  assert.equal(printed({ done: 'yes' }).code, 0)
})
