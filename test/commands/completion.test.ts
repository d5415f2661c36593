// Completion scripts, each run by its shell.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { runProgram } from '../../src/cli/program.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'

async function scriptFor(shell: string): Promise<{ code: number; output: string; errors: string }> {
  const written = { output: '', errors: '' }
  const terminal = new Terminal(
    { write: (text) => (written.output += text) },
    { write: (text) => (written.errors += text) },
  )
  const installation = { root: '/nowhere/', isCheckout: false }
  return { code: await runProgram(['completion', shell], { version: '0', installation }, terminal), ...written }
}

test('bash completes commands, subcommands and options', async () => {
  const { output } = await scriptFor('bash')
  const complete = (line: string): string[] => {
    const words = line.split(' ')
    const script = `${output}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _godwit; printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', script], { encoding: 'utf8' })
      .split('\n')
      .filter((word) => word !== '')
  }
  assert.deepEqual(complete('godwit st'), ['start'])
  assert.deepEqual(complete('godwit ctl clients k'), ['kick'])
  assert.deepEqual(complete('godwit ctl config un'), ['unset'])
  assert.deepEqual(complete('godwit ctl data import --allow'), ['--allow-security-profile-mismatch'])
  assert.ok(complete('godwit ctl --json clients ').includes('list'))
  assert.ok(!complete('godwit ').some((word) => word.startsWith('-')))
})

test('the scripts for zsh and fish have the same words', async () => {
  assert.match((await scriptFor('zsh')).output, /bashcompinit[^]*'ctl clients'\)/)
  const fish = (await scriptFor('fish')).output
  assert.match(fish, /^complete -c godwit .* -f -a kick -d '.+'$/m)
  assert.match(fish, /-l allow-security-profile-mismatch -d/)
})

test('an unknown shell is refused, and the message lists the supported shells', async () => {
  const { code, errors } = await scriptFor('tcsh')
  assert.equal(code, 2)
  assert.match(errors, /bash, zsh, fish/)
})
