// Before a command of `godwit ctl` does anything: words that are wrong, brokers that are not there.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryFolder } from '../../e2e/godwit-process.ts'
import { shareBrokerWithApi } from '../../management/api.ts'
import { askOverHttp, runCtl } from './ctl.ts'

const sharedBroker = shareBrokerWithApi()

test('a command tells what a broker says that is asked over HTTP, in lines or as JSON', async (t) => {
  const broker = await sharedBroker()
  const status = await askOverHttp(t, broker, ['status'])
  assert.deepEqual([status.code, status.errors], [0, ''])
  assert.match(status.output, /^node_status +Running$/m)
  const asJson = await askOverHttp(t, broker, ['status', '--json'])
  assert.equal(JSON.parse(asJson.output).node_status, 'Running')
})

test('lists are lines of cells between tabs where no terminal shows them', async (t) => {
  const broker = await sharedBroker()
  const listed = await askOverHttp(t, broker, ['api', 'list'])
  assert.match(listed.output, /^list_brokers\tGET\t\/brokers\t/m)
})

test('any operation can be called by its name', async (t) => {
  const broker = await sharedBroker()
  const nodes = await askOverHttp(t, broker, ['api', 'call', 'list_nodes'])
  assert.equal(JSON.parse(nodes.output).data.length, 1)
  const unknown = await askOverHttp(t, broker, ['api', 'call', 'list_nods'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.errors, /^godwit: list_nods: no such operation[^\n]*\n$/)
})

test('a password that is wrong is a failure in one line, and stands in none', async (t) => {
  const broker = await sharedBroker()
  const words = ['status', '--url', broker.url, '--username', 'admin', '--password-stdin']
  const wrong = await runCtl(t, words, ['not-the-password'])
  assert.equal(wrong.code, 1)
  assert.match(wrong.errors, /^godwit: [^\n]+\(code 103\)\n$/)
  assert.ok(!wrong.errors.includes('not-the-password'))
})

test('a broker that does not run is said in one line that says what to do', async (t) => {
  const folder = await temporaryFolder(t)
  const nobody = await runCtl(t, ['status', '--data', folder])
  assert.equal(nobody.code, 1)
  assert.match(nobody.errors, /^godwit: no broker runs in [^\n]+godwit start --data[^\n]+\n$/)
  const nowhere = await runCtl(t, ['status', '--url', 'http://127.0.0.1:1'])
  assert.equal(nowhere.code, 1)
  assert.match(nowhere.errors, /^godwit: no broker answers at http:\/\/127\.0\.0\.1:1: [^\n]+\n$/)
})

for (const [what, words, hint] of [
  ['an unknown command', ['statsu'], /Did you mean status\?/],
  ['an unknown word of a group', ['api', 'cal'], /Did you mean call\?/],
  ['an unknown option', ['status', '--jsn'], /Did you mean --json\?/],
  ['a URL that is none', ['status', '--url', 'localhost:8081'], /give a URL like http:/],
  ['a name without a URL', ['status', '--username', 'admin'], /--url URL/],
  ['a password without a user', ['status', '--url', 'http://127.0.0.1:1', '--password-stdin'], /needs --username/],
  [
    'a password that is not there',
    ['status', '--url', 'http://127.0.0.1:1', '--username', 'a', '--password-stdin'],
    /none/,
  ],
] as const) {
  test(`${what} is wrong usage, in one line`, async (t) => {
    const { code, errors } = await runCtl(t, words)
    assert.equal(code, 2)
    assert.match(errors, /^godwit: [^\n]+\n$/)
    assert.match(errors, hint)
  })
}
