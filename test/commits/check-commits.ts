// `npm run check:commits`: checks the messages of the commits since the rules hold, or of a range: `npm run check:commits -- main..HEAD`.
// Without a history (an unpacked archive) there is nothing to check. Exit code 1: a commit breaks a rule.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { checkout } from '../jobs.ts'
import { inspectCommit } from './inspect-commit.ts'

/** The rules hold for commits after this one. */
const lastWithoutRules = '3ee701ca'

function git(...options: string[]): string {
  return execFileSync('git', options, { cwd: checkout, encoding: 'utf8' })
}

/** Options of git log. A clone without the whole history has only the last commit for sure. */
function rangeSinceTheRules(): string[] {
  const hasCommit = git('rev-list', '--all', '--abbrev-commit', '--abbrev=8').split('\n').includes(lastWithoutRules)
  return hasCommit ? [`${lastWithoutRules}..HEAD`] : ['-1', 'HEAD']
}

if (existsSync(`${checkout}.git`)) {
  const range = process.argv[2] === undefined ? rangeSinceTheRules() : [process.argv[2]]
  const commits = git('log', '--no-merges', '--format=%h%n%B%x00', ...range)
    .split('\0')
    .filter((text) => text.trim() !== '')
  for (const text of commits) {
    const [hash = '', ...message] = text.trimStart().split('\n')
    for (const problem of inspectCommit(message.join('\n'))) {
      process.exitCode = 1
      console.error(`${hash} ${message[0]}\n  ${problem}`)
    }
  }
  console.log(`${commits.length} commits checked (${range.join(' ')})`)
} else console.log('no git history: no commits to check')
