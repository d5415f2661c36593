// Each example of `examples/` runs word for word as its README says, and prints what its README says.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { IsolatedProcess } from '../e2e/isolated-machine.ts'
import { blocksOf, checkout, commandsOf, startReader } from '../pages/page-reader.ts'

const folder = join(checkout, 'examples')
const names = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
const pageOf = (name: string): string => `examples/${name}/README.md`
const commands = new Map(names.map((name) => [name, blocksOf(pageOf(name)).flatMap(commandsOf)]))
const startsOf = (name: string): string => (commands.get(name) ?? []).filter((line) => line.endsWith('&')).join('\n')

/** Examples whose brokers are started in the same way run one after the other. */
const groups = Map.groupBy(names, startsOf)

for (const examples of groups.values()) {
  test(`the READMEs of ${examples.join(', ')} are right, word for word`, async (t) => {
    const reader = await startReader(t)
    if (reader === undefined) return
    const started: IsolatedProcess[] = []
    for (const [index, name] of examples.entries()) {
      const expected = blocksOf(pageOf(name)).find(({ word }) => word === 'text')?.text
      assert.ok(expected !== undefined, `${pageOf(name)} has no expected output`)
      let output = ''
      for (const line of commands.get(name) ?? []) {
        const needsNewBroker = line.endsWith('&') || line.includes('--wait')
        if (needsNewBroker && index > 0) continue
        if (line.endsWith('&')) started.push(await reader.start(line))
        else output = await reader.run(line)
      }
      assert.equal(output, expected, name)
    }
    for (const broker of started) {
      await broker.interrupt()
      assert.match(broker.output, /stopping: /)
    }
  })
}

test('every example waits for its brokers before it uses them', () => {
  for (const [name, lines] of commands) {
    const starts = lines.findLastIndex((line) => line.endsWith('&'))
    assert.match(lines[starts + 1] ?? '', /godwit ctl status .*--wait 30\b/, pageOf(name))
  }
})

test('every example has a line in the list of examples, and a link from a page of docs/', () => {
  assert.ok(names.length >= 10)
  const list = readFileSync(join(folder, 'README.md'), 'utf8')
  const docs = join(checkout, 'docs')
  const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => readFileSync(join(docs, path), 'utf8'))
  for (const name of names) {
    assert.ok(list.includes(`(${name}/README.md)`), `examples/README.md does not list ${name}`)
    assert.ok(
      pages.some((page) => page.includes(`examples/${name}/README.md)`)),
      `no page of docs/ links to examples/${name}`,
    )
  }
})
