// Tests the statements of the documentation: its commands exist and have effects, its configurations are valid, and its
// lists are complete.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { checkConfig } from '../../src/cli/config-commands.ts'
import { ctlCommands, ctlGroups } from '../../src/cli/ctl/commands/ctl-commands.ts'
import { runProgram } from '../../src/cli/program.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import { dropReasonNames } from '../../src/api/diagnostics/endpoints.ts'
import { metrics } from '../../src/contract/index.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))
const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: checkout })]
const page = (name: string): string => readFileSync(join(checkout, name), 'utf8')

/** Returns the content of the fenced code blocks of this language. */
function fencedIn(name: string, language: string): string[] {
  return [...page(name).matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter(([, word]) => word === language)
    .map(([, , text = '']) => text)
}

/** Returns the lines without comments. */
function commandLinesIn(name: string): string[] {
  const lines = fencedIn(name, 'sh').flatMap((block) => block.split('\n'))
  return lines.map((line) => line.replace(/\s+#.*$/, '').trim()).filter((line) => line !== '')
}

interface ProgramResult {
  readonly code: number
  readonly output: string
  readonly errors: string
}

async function godwit(words: readonly string[]): Promise<ProgramResult> {
  const written = { output: '', errors: '' }
  const output = { isTTY: false, write: (text: string) => (written.output += text) }
  const terminal = new Terminal(output, { write: (text) => (written.errors += text) })
  const code = await runProgram(words, { version: '0', installation: { root: checkout, isCheckout: true } }, terminal)
  return { code, ...written }
}

/** Of the first command of a pipe. */
const wordsOf = (line: string): string[] => line.split(' | ', 1)[0].split(/\s+/).slice(1)

/** Returns the words of a line that name a command, without its arguments. */
function commandIn(words: readonly string[]): readonly string[] {
  if (['config', 'import', 'bench', 'deploy', 'plugins'].includes(words[0] ?? '')) return words.slice(0, 2)
  if (words[0] !== 'ctl') return words.slice(0, 1)
  const [, first = '', second = ''] = words
  if (ctlCommands.some(({ name }) => name === `${first} ${second}`)) return words.slice(0, 3)
  const isOne = first in ctlGroups || ctlCommands.some(({ name }) => name === first)
  return isOne || first !== '' ? words.slice(0, 2) : words.slice(0, 1)
}

test('every command in the documentation exists, with its options', async () => {
  let found = 0
  const helps = new Map<string, Promise<ProgramResult>>()
  for (const name of pages) {
    const inText = [...page(name).matchAll(/`(godwit [^`\n]+)`/g)].map(([, line = '']) => line)
    const lines = [...commandLinesIn(name), ...inText].filter((line) => line.startsWith('godwit '))
    for (const line of lines) {
      const words = wordsOf(line)
      if (words[0].startsWith('-')) continue
      const command = commandIn(words)
      const help = helps.get(command.join(' ')) ?? godwit([...command, '--help'])
      helps.set(command.join(' '), help)
      const { code, output, errors } = await help
      assert.equal(code, 0, `${name}: ${line}: ${errors}`)
      for (const flag of words.filter((word) => word.startsWith('-')))
        assert.match(output, new RegExp(`(^|[ ,])${flag}\\b`, 'm'), `${name}: ${line}`)
      found += 1
    }
  }
  assert.ok(found > 40, `only ${found}`)
})

test('every file of access rules in the documentation is valid', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'godwit.conf')
  await writeFile(file, 'auth.acl.file = acl.conf')
  let found = 0
  for (const name of pages) {
    for (const text of fencedIn(name, 'erlang')) {
      await writeFile(join(folder, 'acl.conf'), text)
      assert.equal((await checked(file)).errors, '', `${name}:\n${text}`)
      found += 1
    }
  }
  assert.ok(found >= 1, `only ${found}`)
})

async function checked(file: string): Promise<ProgramResult> {
  const written = { output: '', errors: '' }
  const terminal = new Terminal(
    { write: (text: string) => (written.output += text) },
    { write: (text: string) => (written.errors += text) },
  )
  const code = await checkConfig({ file, environment: {}, asJson: false }, terminal)
  return { code, ...written }
}

/** Returns the first cell of each row of a table, without backticks. */
const namesInTables = (text: string): string[] => [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name)

test('docs/OPERATING.md lists every reason for dropped messages', () => {
  const documented = new Set(namesInTables(page('docs/OPERATING.md')))
  assert.deepEqual(
    dropReasonNames.filter((name) => !documented.has(name)),
    [],
  )
})

test('every metric in the documentation is served by the broker', () => {
  const served = new Set(Object.keys(metrics))
  for (const name of pages) {
    const named = [...page(name).matchAll(/`(svc_\w+)`/g)].map(([, metric = '']) => metric)
    assert.deepEqual(
      named.filter((metric) => !served.has(metric)),
      [],
      name,
    )
  }
})
