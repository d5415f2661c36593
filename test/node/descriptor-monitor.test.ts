import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Alarms } from '../../src/node/observe/raised-alarms.ts'
import { DescriptorMonitor } from '../../src/node/observe/descriptor-monitor.ts'
import { ConnectionLimit, createDescriptorCounter } from '../../src/transports/index.ts'

function stage() {
  const alarms = new Alarms({ log: { error: () => {}, warn: () => {} } })
  let code: string | undefined
  const freeDescriptors = createDescriptorCounter()
  const watch = new DescriptorMonitor({
    alarms,
    freeDescriptors,
    tryToOpen: () => {
      if (code !== undefined) throw Object.assign(new Error(code), { code })
    },
  })
  const holding = (): unknown => alarms.listActive().map(({ name, occurrences }) => [name, occurrences])
  const look = (times: number, failing?: string): void => {
    code = failing
    for (let i = 0; i < times; i += 1) watch.poll()
  }
  const budget = new ConnectionLimit(10, { freeDescriptors })
  return { alarms, watch, holding, look, budget }
}

test('without a free descriptor one alarm is raised, and the seconds are counted', () => {
  const { alarms, watch, holding, look } = stage()
  look(3)
  assert.deepEqual([holding(), watch.lackingSeconds], [[], 0])
  look(4, 'EMFILE')
  assert.deepEqual([holding(), watch.lackingSeconds], [[['descriptors', 1]], 4])
  assert.match(alarms.listActive()[0].message, /the process cannot open files.*raise the open-file limit/)
})

test('the alarm ends after ten consecutive checks with a free descriptor, and not if some of them find none', () => {
  const { alarms, holding, look } = stage()
  look(1, 'ENFILE')
  assert.match(alarms.listActive()[0].message, /^the machine cannot open files/)
  for (let i = 0; i < 3; i += 1) {
    look(9)
    look(1, 'ENFILE')
  }
  look(9)
  assert.deepEqual(holding(), [['descriptors', 1]])
  look(1)
  assert.deepEqual(holding(), [])
  look(1, 'EMFILE')
  assert.deepEqual(holding(), [['descriptors', 1]], 'the alarm is raised again')
})

test('a missing file raises no alarm about descriptors', () => {
  const { watch, holding, look } = stage()
  look(2, 'ENOENT')
  assert.deepEqual([holding(), watch.lackingSeconds], [[], 0])
})

test('the number of open descriptors and their limit are those of the system, if the system reports them', () => {
  const { watch, look } = stage()
  look(1)
  const { count, limit } = watch.open
  if (process.platform !== 'linux') return assert.deepEqual([count, limit], [undefined, undefined])
  assert.ok(limit !== undefined && limit > 0)
  // Older kernels do not report the number.
  if (count !== undefined) assert.ok(count > 2 && count < limit, `${count} of ${limit}`)
})

test('no client is accepted while there is no free descriptor', () => {
  const { look, budget } = stage()
  look(1)
  assert.equal(budget.reasonToRefuse, undefined)
  look(1, 'EMFILE')
  assert.equal(budget.reasonToRefuse, 'broker-full')
  look(1)
  assert.equal(budget.reasonToRefuse, undefined)
})
