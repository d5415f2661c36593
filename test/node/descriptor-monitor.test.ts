import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Alarms } from '../../src/node/observe/alarms.ts'
import { DescriptorMonitor } from '../../src/node/observe/descriptor-monitor.ts'
import { ConnectionLimit, createDescriptorCounter } from '../../src/transports/index.ts'

function watched() {
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
  const holding = (): unknown => alarms.active().map(({ name, occurrences }) => [name, occurrences])
  const look = (times: number, failing?: string): void => {
    code = failing
    for (let i = 0; i < times; i += 1) watch.look()
  }
  const budget = new ConnectionLimit(10, { freeDescriptors })
  return { alarms, watch, holding, look, budget }
}

test('the last descriptor taken raises an alarm, once, and each second without one is counted', () => {
  const { alarms, watch, holding, look } = watched()
  look(3)
  assert.deepEqual([holding(), watch.lackingSeconds], [[], 0])
  look(4, 'EMFILE')
  assert.deepEqual([holding(), watch.lackingSeconds], [[['descriptors', 1]], 4])
  assert.match(alarms.active()[0].message, /no file can be opened any more.*raise the open-file limit/)
})

test('it is over when ten looks in a row found one, and not while the last comes and goes', () => {
  const { alarms, holding, look } = watched()
  look(1, 'ENFILE')
  assert.match(alarms.active()[0].message, /^the machine can open no file/)
  for (let i = 0; i < 3; i += 1) {
    look(9)
    look(1, 'ENFILE')
  }
  look(9)
  assert.deepEqual(holding(), [['descriptors', 1]])
  look(1)
  assert.deepEqual(holding(), [])
  look(1, 'EMFILE')
  assert.deepEqual(holding(), [['descriptors', 1]], 'and it comes again')
})

test('a file that is missing says nothing of others', () => {
  const { watch, holding, look } = watched()
  look(2, 'ENOENT')
  assert.deepEqual([holding(), watch.lackingSeconds], [[], 0])
})

test('how many are open, of how many, is what the system says, where it says so', () => {
  const { watch, look } = watched()
  look(1)
  const { count, limit } = watch.open
  if (process.platform !== 'linux') return assert.deepEqual([count, limit], [undefined, undefined])
  assert.ok(limit !== undefined && limit > 0)
  // Older kernels do not say how many.
  if (count !== undefined) assert.ok(count > 2 && count < limit, `${count} of ${limit}`)
})

test('without free descriptors no client is accepted, and one is again as soon as there is one', () => {
  const { look, budget } = watched()
  look(1)
  assert.equal(budget.reasonToRefuse, undefined)
  look(1, 'EMFILE')
  assert.equal(budget.reasonToRefuse, 'broker-full')
  look(1)
  assert.equal(budget.reasonToRefuse, undefined)
})
