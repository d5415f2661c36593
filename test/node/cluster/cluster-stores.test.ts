import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { loadConfig } from '../../../src/config/index.ts'
import { temporaryFolder } from '../../e2e/godwit-process.ts'
import { reservePort } from '../../e2e/reserve-port.ts'
import { importNode } from '../built-node.ts'

const { startNode } = await importNode()

async function findStartProblem(t: TestContext, stores: string): Promise<string> {
  const dataDir = await temporaryFolder(t)
  const loaded = loadConfig({
    overrides: [
      'listeners.tcp.bind="127.0.0.1:0"',
      'http_server={enable=false,port=0}',
      'log.to=[file]',
      'cluster.enable=true',
      'cluster.secret="a secret of the test"',
      'cluster.shards=1',
      `cluster.listen="127.0.0.1:${await reservePort(t)}"`,
      `cluster.stores=${stores}`,
    ],
  })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  const { config } = loaded
  const started = await startNode({
    config: { ...config, node: { ...config.node, dataDir } },
    warnings: [],
    installation: { root: dataDir, isCheckout: true },
  })
  assert.ok('problem' in started, 'the node started')
  return started.problem
}

void test('a cluster without a database is refused, with the setting and an example', async (t) => {
  assert.match(await findStartProblem(t, '[]'), /^cluster\.stores: it names no database.*set it to .*postgres:\/\//)
})

void test('a database URL that is invalid is refused, without its password', async (t) => {
  const problem = await findStartProblem(t, '["postgres://a:secret@/db:x"]')
  assert.match(problem, /^cluster\.stores: number 0 has an invalid host/)
  assert.doesNotMatch(problem, /secret/)
})

void test('a database that cannot be reached ends the start, with its address', async (t) => {
  const port = await reservePort(t)
  const problem = await findStartProblem(t, `["postgres://a:secret@127.0.0.1:${port}/db?sslmode=disable"]`)
  assert.match(problem, new RegExp(`^cluster\\.stores: number 0: .*127\\.0\\.0\\.1:${port}`))
  assert.doesNotMatch(problem, /secret/)
})
