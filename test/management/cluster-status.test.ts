import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClusterHandlers } from '../../src/api/cluster/cluster.ts'
import { runCtlHere } from '../cli/ctl/ctl.ts'
import { shareBrokerWithApi } from './api.ts'

const sharedBroker = shareBrokerWithApi()

test('a node that is alone refuses the operations of a cluster, with the reason', async () => {
  const broker = await sharedBroker()
  const status = await broker.request('/api/v5/cluster/status')
  assert.deepEqual([status.status, status.json.reason], [404, 'NOT_FOUND'])
  assert.match(status.json.message, /not part of a cluster: cluster\.enable is false/)
  const command = await broker.request('/api/v5/cluster/commands', { method: 'POST', body: { command: 'rebalance' } })
  assert.equal(command.status, 404)
  const { code, errors } = await runCtlHere(['cluster', 'status', '--data', broker.dataDirectory])
  assert.equal(code, 1)
  assert.match(errors, /not part of a cluster/)
})

test('a command without what it needs is refused, and so is one that the membership refuses', async () => {
  const commands: unknown[] = []
  const cluster = {
    describe: () => undefined,
    runCommand: async (command: unknown) => {
      commands.push(command)
      return commands.length === 1 ? undefined : 'the process is not dead'
    },
  }
  const { run_cluster_command: run } = createClusterHandlers({ cluster, nodeName: 'a' })
  const call = (body: Parameters<typeof run>[0]['body']) => run({ body } as Parameters<typeof run>[0])
  assert.match(JSON.stringify(await call({ command: 'expire' })), /expire needs life.*BAD_REQUEST/)
  assert.deepEqual(await call({ command: 'evacuate', node: 'b', end: true }), { code: 0 })
  assert.match(JSON.stringify(await call({ command: 'expire', life: '00aa' })), /not dead.*CONFLICT/)
  assert.deepEqual(commands, [
    { kind: 'evacuate', node: 'b', isEvacuated: false },
    { kind: 'expire', life: '00aa' },
  ])
})
