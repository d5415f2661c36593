// `npm run check:commits`: checks the messages of the commits since this check exists, or of a range: `npm run check:commits -- main..HEAD`.
// Without a history (an unpacked archive) there is nothing to check. Exit code 1: a commit breaks a rule.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { checkout } from '../jobs.ts'
import { inspectCommit } from './inspect-commit.ts'

/** The rules hold for commits after the one that added this file. */
const firstFile = 'test/commits/inspect-commit.ts'

function git(...options: string[]): string {
  return execFileSync('git', options, { cwd: checkout, encoding: 'utf8' })
}

function rangeSinceTheRules(): string {
  const [first] = git('log', '--diff-filter=A', '--format=%H', '--', firstFile).trim().split('\n').slice(-1)
  return first === undefined || first === '' ? 'HEAD' : `${first}..HEAD`
}

if (existsSync(`${checkout}.git`)) {
  const range = process.argv[2] ?? rangeSinceTheRules()
  const commits = git('log', '--no-merges', '--format=%h%n%B%x00', range)
    .split('\0')
    .filter((text) => text.trim() !== '')
  for (const text of commits) {
    const [hash = '', ...message] = text.trimStart().split('\n')
    for (const problem of inspectCommit(message.join('\n'))) {
      process.exitCode = 1
      console.error(`${hash} ${message[0]}\n  ${problem}`)
    }
  }
  console.log(`${commits.length} commits checked (${range})`)
} else console.log('no git history: no commits to check')
