// Manual pages have the same content as --help.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ctlCommands } from '../../src/cli/ctl/commands/ctl-commands.ts'
import { runProgram } from '../../src/cli/program.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'

async function godwit(words: readonly string[]): Promise<{ code: number; output: string; errors: string }> {
  const written = { output: '', errors: '' }
  const terminal = new Terminal(
    { write: (text) => (written.output += text) },
    { write: (text) => (written.errors += text) },
  )
  const installation = { root: '/nowhere/', isCheckout: false }
  return { code: await runProgram(words, { version: '1.2.3', installation }, terminal), ...written }
}

/** The page as a reader sees it. */
const plain = (troff: string): string => troff.replaceAll('\\-', '-').replaceAll('\\e', '\\')

test('the manual page has every command of ctl with its options', async () => {
  const page = plain((await godwit(['man', 'ctl'])).output)
  assert.match(page, /^\.TH GODWIT-CTL 1 "" "Godwit 1\.2\.3"/)
  for (const { name, options = [] } of ctlCommands) {
    assert.match(page, new RegExp(`^\\.SS godwit ctl ${name}\\b`, 'm'), name)
    for (const { flags } of options) assert.ok(page.includes(`.B ${flags}\n`), `${name} ${flags}`)
  }
})

test('all pages are written, each with its name and synopsis, and no text line is read as a roff request', async (t) => {
  const folder = await temporaryFolder(t)
  const { output } = await godwit(['man', '--output', folder])
  const files = readdirSync(folder)
  assert.equal(output, `${files.length} manual pages in ${folder}\n`)
  assert.ok(files.includes('godwit.1') && files.includes('godwit-start.1'))
  const { man } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  assert.deepEqual(
    man.toSorted(),
    files.map((file) => `man/${file}`).toSorted(),
    'npm installs the pages of package.json',
  )
  for (const file of files) {
    const text = readFileSync(join(folder, file), 'utf8')
    assert.match(text, /^\.SH NAME\n\S+ \\- .+\n\.SH SYNOPSIS\n/m, file)
    const requests = text.split('\n').filter((line) => /^[.']/.test(line))
    assert.deepEqual(
      requests.filter((line) => !/^\.(TH|SH|SS|TP|PP|B|BR)\b/.test(line)),
      [],
      file,
    )
  }
})

test('an unknown page is refused, and the message lists the existing pages', async () => {
  const { code, errors } = await godwit(['man', 'nothing'])
  assert.equal(code, 2)
  assert.match(errors, /no manual page for "nothing"; use one of start, init, config, ctl,/)
})
